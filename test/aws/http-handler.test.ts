import type { IncomingMessage, RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, test } from '@jest/globals'
import { httpHandler } from '#shared/platform/aws/http-handler.ts'
import { type HttpServer, startHttpServer } from '#test/support/http-server.ts'

let started: HttpServer | undefined
let handler: ReturnType<typeof httpHandler>
afterEach(async () => {
  handler.destroy()
  await started?.stop()
})

async function start(listener: RequestListener, milliseconds = 10_000) {
  handler = httpHandler(milliseconds)
  started = await startHttpServer(listener)
  const { port } = started
  return { protocol: 'http:', hostname: '127.0.0.1', port, method: 'POST', path: '/', headers: {}, body: 'ß' }
}

describe('the request handler of SDK clients', () => {
  test('sends method, path, headers and body', async () => {
    let sent: unknown
    const request = await start(async (received: IncomingMessage, response) => {
      sent = [received.method, received.url, received.headers['x-amz-target'], await text(received)]
      response.end()
    })
    await handler.handle({ ...request, path: '/path', headers: { 'x-amz-target': 'PutItem' } })
    expect(sent).toEqual(['POST', '/path', 'PutItem', 'ß'])
  })

  test('returns status, headers and the whole body', async () => {
    const request = await start((_, response) => {
      response.writeHead(400, { 'x-amzn-requestid': 'id' }).write('one ')
      setImmediate(() => response.end('two'))
    })
    const { response } = await handler.handle(request)
    expect(response.statusCode).toBe(400)
    expect(response.headers['x-amzn-requestid']).toBe('id')
    expect(Buffer.from(response.body).toString()).toBe('one two')
  })

  test('returns an empty body', async () => {
    const request = await start((_, answer) => answer.end())
    const { response } = await handler.handle(request)
    expect(response.body).toHaveLength(0)
  })

  test('keeps its connection for the next request', async () => {
    const ports: (number | undefined)[] = []
    const request = await start((received, response) => {
      ports.push(received.socket.remotePort)
      response.end('done')
    })
    await handler.handle(request)
    await handler.handle(request)
    expect(ports[1]).toBe(ports[0])
  })

  test('opens a connection for each of several requests at once', async () => {
    const waiting: (() => void)[] = []
    const request = await start((_, response) => {
      waiting.push(() => response.end())
      if (waiting.length === 3) for (const release of waiting) release()
    })
    const responses = await Promise.all([1, 2, 3].map(() => handler.handle(request)))
    expect(responses.map(({ response }) => response.statusCode)).toEqual([200, 200, 200])
  })

  test.each([
    ['that is not answered', () => {}],
    [
      'whose response does not end',
      (_: IncomingMessage, response: { write(text: string): void }) => response.write('a'),
    ],
  ])(
    'gives up a request %s after the time limit of the request, and cuts its connection',
    async (_, listener) => {
      const request = await start(listener as RequestListener)
      const closed = new Promise((resolve) => {
        started?.server.once('connection', (socket) => socket.on('error', () => {}).once('close', resolve))
      })
      const call = handler.handle({ ...request, milliseconds: 30 })
      await expect(call).rejects.toMatchObject({ name: 'TimeoutError' })
      await closed
    },
  )

  test('gives up after its own time limit a request without one', async () => {
    const request = await start(() => {}, 30)
    await expect(handler.handle(request)).rejects.toMatchObject({ name: 'TimeoutError' })
  })

  test('fails when the connection ends within a response', async () => {
    const request = await start((_, response) => {
      response.writeHead(200, { 'content-length': '10' }).write('half')
      setImmediate(() => response.destroy())
    })
    await expect(handler.handle(request)).rejects.toMatchObject({ code: 'ECONNRESET' })
  })

  test('fails when nothing listens', async () => {
    const request = await start(() => {})
    await started?.stop()
    await expect(handler.handle(request)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })

  test('ends a request when its signal is aborted', async () => {
    const abort = new AbortController()
    const request = await start(() => abort.abort())
    const call = handler.handle(request, { abortSignal: abort.signal })
    await expect(call).rejects.toMatchObject({ name: 'AbortError' })
  })
})
