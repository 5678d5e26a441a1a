import { expect, test } from '@jest/globals'
import type { SubscriberResponse } from '#shared/subscribers/call-subscriber.ts'
import { newDelivery } from '#shared/subscribers/delivery.ts'
import { mayAdd, rotateSecret } from '#shared/subscribers/subscriber.ts'
import { isSubscriberUrl } from '#shared/subscribers/subscriber-address.ts'
import { breakerOf } from '#shared/subscribers/subscriber-health.ts'
import { type DeliveryService, startDeliveries, steadySettings } from '#test/subscribers/delivery-service.ts'
import { subscriberOf } from '#test/subscribers/subscribers.ts'
import { localSettings, otherSettings, profile } from '#test/support/settings.ts'

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

/** A setting; what depends on it; and its value with the local settings, and with the other ones. */
test.each<[string, (settings: typeof localSettings) => unknown, unknown, unknown]>([
  ['subscribers.maxPerTenant', (settings) => mayAdd([subscriberOf(), subscriberOf()], settings), true, false],
  [
    'subscribers.secretOverlapSeconds',
    (settings) => rotateSecret(subscriberOf(), 'two', { now: 0, settings }),
    { set: { secrets: [{ sealed: 'two' }, { sealed: 'one', valid_until: 86_400_000 }] } },
    { set: { secrets: [{ sealed: 'two' }, { sealed: 'one', valid_until: 60_000 }] } },
  ],
  ['deliveries.addresses', (settings) => isSubscriberUrl('http://localhost:1', settings), true, false],
  [
    'deliveries.retentionDays',
    (settings) => newDelivery(ref, event, { state: 'waiting', now: 0, settings }).expires_at,
    30 * day,
    7 * day,
  ],
])('%s', (_, decide, ...expected) => {
  expect([localSettings, otherSettings].map(decide)).toMatchObject(expected)
})

/** Publishes an event to a subscriber that responds so, and runs the sender for some time. */
async function attempts(service: DeliveryService, response: SubscriberResponse, seconds: number) {
  const subscriber = await service.add()
  service.respond = () => response
  await service.publish()
  await service.runFor(seconds)
  return { subscriber, calls: service.received.length }
}

/** A setting; the steps of a service; and their results with the local settings, and with this other one. */
type Row = [keyof typeof otherSettings, (service: DeliveryService) => Promise<unknown>, unknown, unknown]
const rows: Row[] = [
  [
    'deliveries.schedule',
    // The pauses before retries, and the longest Retry-After.
    async (service) => {
      const { calls } = await attempts(service, { status: 503, answer: '', retryAfter: '9999' }, 2060)
      return [calls, (await service.deliveries())[0]?.state]
    },
    [1, 'waiting'],
    [2, 'failed'],
  ],
  [
    'deliveries.timeoutSeconds',
    async (service) => {
      let limit: number | undefined
      await service.add()
      service.respond = ({ timeoutMilliseconds }) => {
        limit = timeoutMilliseconds
        return { status: 200, answer: '' }
      }
      await service.publish()
      await service.run()
      return limit
    },
    15_000,
    1000,
  ],
  [
    'deliveries.disableAfterDays',
    async (service) => {
      const { subscriber } = await attempts(service, { status: 500, answer: '' }, 27 * 3600)
      await service.publish()
      await service.run()
      return (await service.subscriber(subscriber))?.state
    },
    'active',
    'disabled',
  ],
  [
    'deliveries.slowCalls',
    // When a call is slow, and how many processes slow calls hold.
    async (service) => {
      await service.add()
      const ended = Promise.withResolvers<void>()
      let afterMilliseconds: number | undefined
      let permitted = 0
      for (let n = 0; n < 6; n += 1) {
        const answered = Promise.withResolvers<void>()
        service.respond = async ({ slow }) => {
          afterMilliseconds = slow.afterMilliseconds
          const mayContinue = await slow.mayContinue()
          permitted += mayContinue ? 1 : 0
          answered.resolve()
          await ended.promise
          return mayContinue ? { status: 200, answer: '' } : { reason: 'no_slot' }
        }
        await service.publish()
        await Promise.race([answered.promise, service.run()])
      }
      ended.resolve()
      return { afterMilliseconds, permitted }
    },
    { afterMilliseconds: 500, permitted: 5 },
    { afterMilliseconds: 0, permitted: 1 },
  ],
  [
    'deliveries.breaker',
    async (service) => {
      const { subscriber } = await attempts(service, { reason: 'timeout' }, 0)
      return breakerOf(await service.health(subscriber), service.clock.now())
    },
    'closed',
    'open',
  ],
  [
    'deliveries.putBackPerMinute',
    async (service) => {
      const subscriber = await service.add({ state: 'paused' })
      for (let n = 0; n < 12; n += 1) await service.publish()
      await service.change(subscriber, { state: 'active' })
      return (await service.sweep()).queued
    },
    12,
    10,
  ],
]

test.each(rows)('%s', async (key, steps, ...expected) => {
  const both = [steadySettings, { ...steadySettings, [key]: otherSettings[key] }]
  const results = both.map(async (settings) => steps(await startDeliveries({ settings })))
  expect(await Promise.all(results)).toEqual(expected)
})

test('deliveries.schedule: the random part of a pause', async () => {
  const { jitter } = localSettings['deliveries.schedule']
  const service = await startDeliveries({ settings: localSettings })
  // The random source of the test returns the smallest number.
  await attempts(service, { status: 500, answer: '' }, 0)
  expect((await service.deliveries())[0]?.next_at).toBe(service.clock.now() + 5000 * (1 - jitter))
})

test('a breaker whose longest pause is below its first one is rejected', () => {
  const breaker = { timeouts: 1, pauseSeconds: 60, maxPauseSeconds: 59 }
  const file = 'shared/settings/profiles/local.json'
  expect(() => profile(file, { 'deliveries.breaker': breaker })).toThrow(/maxPauseSeconds/)
})
