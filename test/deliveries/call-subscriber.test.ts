import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals'
import { callSubscriber, subscriberNetwork } from '#shared/deliveries/call-subscriber.ts'
import { startHttpServer } from '#test/support/http-server.ts'
import { localSettings, otherSettings } from '#test/support/settings.ts'

/** Longer than any test takes, so that only a test of the limit reaches it. */
const unlimited = 2 ** 30

let respond: (request: IncomingMessage, response: ServerResponse) => void
const received: { url: string | undefined; headers: IncomingMessage['headers']; body: string }[] = []
let current = 0
const {
  url: origin,
  port,
  stop,
} = await startHttpServer(async (request, response) => {
  // A call that an earlier test ended may arrive late.
  if (request.headers['webhook-id'] !== String(current)) return void request.socket.destroy()
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  received.push({ url: request.url, headers: request.headers, body: Buffer.concat(chunks).toString() })
  respond(request, response)
})
afterAll(stop)
beforeEach(() => {
  received.length = 0
  current += 1
  respond = (_, response) => response.end('thanks')
})

const network = subscriberNetwork(localSettings)
const request = (changes: object = {}) => ({
  url: `${origin}/hook?a=b`,
  headers: { 'webhook-id': String(current) },
  body: '{"a":"é"}',
  timeoutMilliseconds: unlimited,
  slow: { afterMilliseconds: unlimited, mayContinue: async () => true },
  ...changes,
})

describe('a call of a subscriber', () => {
  test('posts the exact body with the headers', async () => {
    expect(await callSubscriber(request(), network)).toEqual({ status: 200, answer: 'thanks' })
    expect(received).toMatchObject([
      {
        url: '/hook?a=b',
        headers: { 'content-type': 'application/json', 'content-length': '10', 'webhook-id': '1' },
        body: '{"a":"é"}',
      },
    ])
  })

  test('does not follow a redirect', async () => {
    respond = (_, response) => response.writeHead(302, { Location: '/elsewhere' }).end()
    expect(await callSubscriber(request(), network)).toMatchObject({ status: 302 })
    expect(received).toHaveLength(1)
  })

  test('returns a Retry-After', async () => {
    respond = (_, response) => response.writeHead(503, { 'Retry-After': '7' }).end()
    expect(await callSubscriber(request(), network)).toEqual({ status: 503, answer: '', retryAfter: '7' })
  })

  test('reads the first kilobyte of an endless response, without a cut character', async () => {
    respond = (_, response) => void response.write(`a${'é'.repeat(1000)}`)
    expect(await callSubscriber(request(), network)).toEqual({
      status: 200,
      answer: `a${'é'.repeat(511)}`,
    })
  })

  test('ends at its time limit, also while the response arrives', async () => {
    respond = (_, response) => void response.write('a')
    const limited = request({ timeoutMilliseconds: 1 })
    expect(await callSubscriber(limited, network)).toEqual({ reason: 'timeout' })
  })

  test('fails if the connection breaks', async () => {
    respond = (incoming) => incoming.socket.destroy()
    expect(await callSubscriber(request(), network)).toEqual({ reason: 'connection' })
  })

  test('is aborted if it is slow and may not continue', async () => {
    respond = () => {}
    const slow = { afterMilliseconds: 0, mayContinue: async () => false }
    expect(await callSubscriber(request({ slow }), network)).toEqual({ reason: 'no_slot' })
  })

  test('goes on if it is slow and may continue', async () => {
    const asked = Promise.withResolvers<void>()
    respond = async (_, response) => {
      await asked.promise
      response.end()
    }
    const slow = {
      afterMilliseconds: 0,
      mayContinue: async () => {
        asked.resolve()
        return true
      },
    }
    expect(await callSubscriber(request({ slow }), network)).toEqual({ status: 200, answer: '' })
  })

  test('fails if the slot cannot be taken for a fault of the service', async () => {
    respond = () => {}
    const slow = {
      afterMilliseconds: 0,
      mayContinue: () => Promise.reject(new Error('no table')),
    }
    await expect(callSubscriber(request({ slow }), network)).rejects.toThrow('no table')
  })
})

describe('an address that may not be reached', () => {
  test.each([
    ['of the machine itself on AWS', origin, otherSettings],
    ['of a private network', 'https://10.0.0.1', localSettings],
    ['for metadata of the cloud', 'https://169.254.169.254', localSettings],
  ])('%s is not called', async (_, url, settings) => {
    const call = request({ url })
    expect(await callSubscriber(call, subscriberNetwork(settings))).toEqual({ reason: 'address' })
    expect(received).toEqual([])
  })

  test('is refused as the connection is made, if the name has moved there', async () => {
    const addresses = ['93.184.216.34', '10.0.0.1']
    const moved = { ...subscriberNetwork(otherSettings), resolve: async () => addresses }
    const call = request({ url: 'https://hooks.example.com' })
    expect(await callSubscriber(call, moved)).toEqual({ reason: 'address' })
  })

  test('cannot be named after the check: the connection goes to the checked address', async () => {
    let lookups = 0
    const resolve = async () => {
      lookups += 1
      return ['127.0.0.1']
    }
    const call = request({ url: `http://hooks.example.com:${port}/` })
    expect(await callSubscriber(call, { ...network, resolve })).toMatchObject({ status: 200 })
    expect(lookups).toBe(1)
    expect(received).toMatchObject([{ headers: { host: `hooks.example.com:${port}` } }])
  })

  test('is looked up until the time limit', async () => {
    const ended = Promise.withResolvers<void>()
    const resolve = (_: string, signal?: AbortSignal) =>
      new Promise<string[]>(() => signal?.addEventListener('abort', () => ended.resolve()))
    const call = request({ url: 'https://hooks.example.com', timeoutMilliseconds: 1 })
    expect(await callSubscriber(call, { ...network, resolve })).toEqual({ reason: 'timeout' })
    await ended.promise
  })

  test('is found for a name of the machine itself, where it may be called', async () => {
    const addresses = await network.resolve('localhost')
    expect(addresses.filter(network.mayReach)).not.toEqual([])
  })

  test('is a failed connection if the name has no address', async () => {
    const unknown = { ...network, resolve: () => Promise.reject(new Error('ENOTFOUND')) }
    const call = request({ url: 'https://hooks.example.com' })
    expect(await callSubscriber(call, unknown)).toEqual({ reason: 'connection' })
  })
})
