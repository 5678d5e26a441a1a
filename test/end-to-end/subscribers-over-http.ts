import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from '@jest/globals'
import { Webhook } from 'standardwebhooks'
import { startSubscriberEndpoint } from '#test/support/subscriber-endpoint.ts'
import type { Deployment } from './deployment.ts'

/** Returns the type of an event whose signature is valid. */
function typeOf(secret: string, body: Buffer, headers: Record<string, string>): string {
  try {
    return (new Webhook(secret).verify(body, headers) as { type: string }).type
  } catch {
    return 'an invalid signature'
  }
}

/** Runs the commands on subscribers. */
export function subscribersOverHttp(deployment: () => Deployment): void {
  const tenant = 'subscribed'
  const subscribers = (...args: string[]) => deployment().run('subscribers', ...args, '--tenant', tenant)
  const create = (url: string, events: string) => subscribers('create', '--url', url, '--events', events)

  test('a subscriber is created, updated, paused, resumed, gets a new secret and is deleted', async () => {
    const [created] = await create('http://127.0.0.1:9/hook', 'order.placed')
    const id = String(created?.id)
    expect(created).toMatchObject({ state: 'active', secret: expect.stringMatching(/^whsec_/) })
    expect(await subscribers('update', id, '--events', 'order.*')).toMatchObject([{ events: ['order.*'] }])
    expect(await subscribers('pause', id)).toMatchObject([{ id, state: 'paused' }])
    expect(await subscribers('resume', id)).toMatchObject([{ id, state: 'active' }])
    const [rotated] = await subscribers('rotate-secret', id, '--overlap', '0', '--yes')
    expect(rotated).toMatchObject({ id, secret: expect.stringMatching(/^whsec_/) })
    expect(rotated?.secret).not.toBe(created?.secret)
    expect(await subscribers('list')).toMatchObject([{ id, events: ['order.*'], state: 'active' }])
    await subscribers('delete', id, '--yes')
    expect(await subscribers('list')).toEqual([])
  })

  test('a URL of a private network and an unknown event are refused', async () => {
    await expect(create('https://10.0.0.1/hook', '*')).rejects.toThrow(
      'url: it takes a public https URL without credentials',
    )
    await expect(create('http://127.0.0.1:9/hook', 'order.plcaed')).rejects.toThrow(
      'no event matches order.plcaed. The events are: ',
    )
  })

  test('re-encrypt leaves secrets of the current version as they are', async () => {
    await create('http://127.0.0.1:9/kept', 'order.paid')
    expect(await deployment().run('subscribers', 're-encrypt')).toMatchObject([
      { re_encrypted: 0, unreadable: [] },
    ])
  })

  test('an order reaches a subscriber, signed, and one that failed gets it again', async () => {
    const received: { path: string; id: string; verified: string }[] = []
    const secrets = new Map<string, string>()
    const all = Promise.withResolvers<void>()
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const path = request.url ?? ''
      const headers = request.headers as Record<string, string>
      const isFirst = received.every((one) => one.path !== path)
      const verified = typeOf(secrets.get(path) ?? '', Buffer.concat(chunks), headers)
      received.push({ path, id: headers['webhook-id'] ?? '', verified })
      response.writeHead(path === '/flapping' && isFirst ? 500 : 204).end()
      if (received.length === 3) all.resolve()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    try {
      for (const path of ['/steady', '/flapping']) {
        const [created] = await create(`http://127.0.0.1:${port}${path}`, 'order.placed')
        secrets.set(path, String(created?.secret))
      }
      await deployment().send('/v1/orders', {
        method: 'POST',
        as: { tenant },
        headers: { 'Idempotency-Key': crypto.randomUUID() },
        body: { cart_id: 'c', amount_minor: 5, currency: 'EUR' },
      })
      await all.promise
    } finally {
      server.closeAllConnections()
      server.close()
    }
    expect(received.map(({ path }) => path).toSorted()).toEqual(['/flapping', '/flapping', '/steady'])
    expect(new Set(received.map(({ id }) => id)).size).toBe(1)
    expect(new Set(received.map(({ verified }) => verified))).toEqual(new Set(['order.placed']))
  })

  test('deliveries list shows none of a subscriber without events', async () => {
    const [subscriber] = await subscribers('list')
    const of = ['--tenant', tenant, '--subscriber', String(subscriber?.id)]
    expect(await deployment().run('deliveries', 'list', ...of)).toEqual([])
  })

  test('a subscriber is tested with a signed event', async () => {
    const endpoint = await startSubscriberEndpoint()
    try {
      const [created] = await create(`${endpoint.url}/tested`, 'refund.*')
      const [id, secret] = [String(created?.id), String(created?.secret)]
      expect(await subscribers('test', id)).toMatchObject([
        { accepted: true, status: 200, answer: 'status 200' },
      ])
      expect(endpoint.verified(secret)).toMatchObject([{ type: 'ping', data: { id, tenant_id: tenant } }])
    } finally {
      await endpoint.stop()
    }
  })
}
