import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type SubscriberEndpoint, startSubscriberEndpoint } from '#test/support/subscriber-endpoint.ts'
import type { Deployment } from './deployment.ts'
import { until } from './until.ts'

/** Tests a subscriber, and sends its deliveries again. The campaign of the operations plays the other commands. */
export function subscribersOverHttp(deployment: () => Deployment): void {
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
    const placed = (await deployment().placeOrder(tenant)).json.id
    await receives(placed, 1)
    await run('deliveries', 'resend', await deliveryIn('succeeded'))
    await receives(placed, 2)
    expect(new Set(received(placed).map(({ event_id }) => event_id)).size).toBe(1)
    await deliveryIn('succeeded')
  })

  test('suspended ones are dropped by a resumption with --skip, and those of a time are replayed', async () => {
    await run('subscribers', 'pause', id)
    const skipped = (await deployment().placeOrder(tenant)).json.id
    // It is suspended again, as its subscriber is still paused.
    await run('deliveries', 'resend', await deliveryIn('suspended'))
    await deliveryIn('suspended')
    expect(await run('subscribers', 'resume', id, '--skip', '--yes')).toMatchObject([
      { state: 'active', skipped: 1 },
    ])
    const window = ['--from', from, '--to', new Date().toISOString()]
    expect(await run('events', 'replay', '--subscriber', id, ...window)).toEqual([
      { subscriber: id, resent: 2 },
    ])
    await receives(skipped, 1)
  })
}
