import type { SubscriberResponse } from '#shared/deliveries/call-subscriber.ts'
import { newDelivery } from '#shared/deliveries/delivery.ts'
import { slotsPerTenant } from '#shared/deliveries/subscriber-health.ts'
import { mayAdd, rotateSecret } from '#shared/subscribers/subscriber.ts'
import { isSubscriberUrl } from '#shared/subscribers/subscriber-address.ts'
import { type DeliveryService, startDeliveries } from '#test/deliveries/delivery-service.ts'
import { subscriberOf } from '#test/subscribers/subscribers.ts'
import { type Row, settingsWith, testChanges } from './changes.ts'

const event = {
  event_id: 'e1',
  type: 'order.placed',
  version: 1,
  occurred_at: '2026-01-02T03:04:05.678Z',
  source: 'commerce-api' as const,
  correlation_id: 'c1',
  data: {},
}
const ref = { tenant: 'acme', subscriber: 's1' }
const day = 24 * 3600

/** Publishes an event to a subscriber that responds so, and runs the sender for some time. */
async function attempts(service: DeliveryService, response: SubscriberResponse, seconds: number) {
  const subscriber = await service.add()
  service.respond = () => response
  await service.publish()
  await service.runFor(seconds)
  return { subscriber, calls: service.received.length, state: (await service.deliveries())[0]?.state }
}

/** Returns how long a retry waits after a failure. The random source of the tests returns the smallest number. */
async function pause(service: DeliveryService) {
  await attempts(service, { status: 500, answer: '' }, 0)
  return Number((await service.deliveries())[0]?.next_at) - service.clock.now()
}

// biome-ignore format: a table of rows
const rows: Row<DeliveryService>[] = [
  ['subscribers.maxPerTenant', 2, ({ settings }) => mayAdd([subscriberOf(), subscriberOf()], settings), false],
  ['subscribers.secretOverlapSeconds', 60,
    ({ settings }) => Object.entries(rotateSecret(subscriberOf(), 'two', { now: 0, settings })).find(([name]) => name === 'set')?.[1].secrets,
    [{ sealed: 'two' }, { sealed: 'one', valid_until: 60_000 }]],
  ['deliveries.addresses', 'public', ({ settings }) => isSubscriberUrl('http://localhost:1', settings), false],
  ['deliveries.retentionDays', 8,
    ({ settings }) => newDelivery(ref, event, { state: 'waiting', now: 0, settings }).expires_at, 8 * day],
  ['deliveries.schedule', { jitter: 0 }, pause, 5000],
  ['deliveries.schedule', { retriesAfterSeconds: [1000] }, pause, 900_000],
  ['deliveries.schedule', { retriesAfterSeconds: [5], maxRetryAfterSeconds: 2000 }, async (service) => {
    const { calls, state } = await attempts(service, { status: 503, answer: '', retryAfter: '9999' }, 2060)
    return [calls, state]
  }, [2, 'failed']],
  ['deliveries.timeoutSeconds', 1, async (service) => {
    let limit: number | undefined
    await service.add()
    service.respond = ({ timeoutMilliseconds }) => {
      limit = timeoutMilliseconds
      return { status: 200, answer: '' }
    }
    await service.publish()
    await service.run()
    return limit
  }, 1000],
  ['deliveries.disableAfterDays', 1, async (service) => {
    const { subscriber } = await attempts(service, { status: 500, answer: '' }, 27 * 3600)
    await service.publish()
    await service.run()
    return (await service.subscriber(subscriber))?.state
  }, 'disabled'],
  ['deliveries.senders', 20, ({ settings }) => slotsPerTenant(settings), 2],
]

testChanges(rows, (changes) => startDeliveries({ settings: settingsWith(changes) }))
