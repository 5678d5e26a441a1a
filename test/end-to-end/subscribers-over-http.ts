import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Webhook } from 'standardwebhooks'
import { type SubscriberEndpoint, startSubscriberEndpoint } from '#test/support/subscriber-endpoint.ts'
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
  const order = async (tenant: string) => {
    const { json } = await deployment().send('/v1/orders', {
      method: 'POST',
      as: { tenant },
      headers: { 'Idempotency-Key': crypto.randomUUID() },
      body: { cart_id: 'c', amount_minor: 5, currency: 'EUR' },
    })
    return String(json.id)
  }

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
      // Deliveries are at least once: any of these requests may come again.
      const countOf = (path: string) => received.filter((one) => one.path === path).length
      if (countOf('/flapping') >= 2 && countOf('/steady') >= 1) all.resolve()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    try {
      for (const path of ['/steady', '/flapping']) {
        const [created] = await create(`http://127.0.0.1:${port}${path}`, 'order.placed')
        secrets.set(path, String(created?.secret))
      }
      await order(tenant)
      await all.promise
    } finally {
      server.closeAllConnections()
      server.close()
    }
    expect(new Set(received.map(({ id }) => id)).size).toBe(1)
    expect(new Set(received.map(({ verified }) => verified))).toEqual(new Set(['order.placed']))
  })

  describe('deliveries', () => {
    const tenant = 'resent'
    const run = (...args: string[]) => deployment().run(...args, '--tenant', tenant)
    const from = new Date().toISOString()
    let endpoint: SubscriberEndpoint
    let id: string
    let secret: string
    beforeAll(async () => {
      endpoint = await startSubscriberEndpoint()
    })
    afterAll(() => endpoint?.stop())

    /** Waits until the delivery of an order is in the state. @returns its id */
    async function deliveryIn(state: string): Promise<string> {
      const isFound = (one: Record<string, unknown>) => one.type === 'order.placed' && one.state === state
      const deliveries = await until(
        () => run('deliveries', 'list', '--subscriber', id),
        (all) => all.some(isFound),
      )
      return String(deliveries.find(isFound)?.id)
    }
    const received = (order: string) => endpoint.verified(secret).filter(({ data }) => data.id === order)
    const receives = (order: string, times: number) =>
      until(
        () => received(order),
        ({ length }) => length >= times,
      )

    test('a subscriber is tested with a signed event', async () => {
      const [created] = await run('subscribers', 'create', '--url', endpoint.url, '--events', 'order.placed')
      id = String(created?.id)
      secret = String(created?.secret)
      expect(await run('subscribers', 'test', id)).toMatchObject([
        { accepted: true, status: 200, answer: 'status 200' },
      ])
      expect(endpoint.verified(secret)).toMatchObject([{ type: 'ping', data: { id, tenant_id: tenant } }])
    })

    test('one that was received is sent again, with the same event id', async () => {
      const placed = await order(tenant)
      await receives(placed, 1)
      await run('deliveries', 'resend', await deliveryIn('succeeded'))
      await receives(placed, 2)
      expect(new Set(received(placed).map(({ event_id }) => event_id)).size).toBe(1)
      await deliveryIn('succeeded')
    })

    test('held ones are dropped by a resumption with --skip, and those of a time are replayed', async () => {
      await run('subscribers', 'pause', id)
      const skipped = await order(tenant)
      // It is held again, as its subscriber is still paused.
      await run('deliveries', 'resend', await deliveryIn('held'))
      await deliveryIn('held')
      expect(await run('subscribers', 'resume', id, '--skip', '--yes')).toMatchObject([
        { state: 'active', skipped: 1 },
      ])
      const window = ['--from', from, '--to', new Date().toISOString()]
      expect(await run('deliveries', 'replay', '--subscriber', id, ...window)).toEqual([
        { subscriber: id, resent: 2 },
      ])
      await receives(skipped, 1)
    })
  })
}

/** Reads until the condition holds. The limit is far above what a busy machine takes. */
async function until<T>(read: () => Promise<T> | T, holds: (value: T) => boolean): Promise<T> {
  for (const over = Date.now() + 200_000; ; await sleep(200)) {
    const value = await read()
    if (holds(value)) return value
    if (Date.now() > over) throw new Error(`the last value is ${JSON.stringify(value)}`)
  }
}
