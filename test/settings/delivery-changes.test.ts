import { describe, expect, test } from '@jest/globals'
import type { SubscriberResponse } from '#shared/subscribers/call-subscriber.ts'
import { newDelivery } from '#shared/subscribers/delivery.ts'
import { mayAdd, rotateSecret } from '#shared/subscribers/subscriber.ts'
import { isSubscriberUrl } from '#shared/subscribers/subscriber-address.ts'
import { breakerOf } from '#shared/subscribers/subscriber-health.ts'
import { type DeliveryService, startDeliveries, steadySettings } from '#test/subscribers/delivery-service.ts'
import { subscriberOf } from '#test/subscribers/subscribers.ts'
import { localSettings, otherSettings, profile } from '#test/support/settings.ts'

/** Each setting has an effect: two deployments with different values decide differently about the same input. */

const both = [localSettings, otherSettings]
const event = {
  event_id: 'e1',
  type: 'order.placed',
  version: 1,
  occurred_at: '2026-01-02T03:04:05.678Z',
  source: 'commerce-api' as const,
  correlation_id: 'c1',
  data: {},
}

describe('settings of subscribers', () => {
  test('subscribers.maxPerTenant: the number of subscribers of a tenant', () => {
    const two = [subscriberOf(), subscriberOf()]
    expect(both.map((settings) => mayAdd(two, settings))).toEqual([true, false])
  })

  test('subscribers.secretOverlapSeconds: how long an old secret signs', () => {
    const ends = both.map((settings) => rotateSecret(subscriberOf(), 'two', { now: 0, settings }))
    expect(ends).toMatchObject([
      { set: { secrets: [{ sealed: 'two' }, { sealed: 'one', valid_until: 86_400_000 }] } },
      { set: { secrets: [{ sealed: 'two' }, { sealed: 'one', valid_until: 60_000 }] } },
    ])
  })

  test('deliveries.addresses: whether a subscriber may be on the machine itself', () => {
    expect(both.map((settings) => isSubscriberUrl('http://localhost:1', settings))).toEqual([true, false])
  })

  test('deliveries.retentionDays: how long a delivery is kept', () => {
    const ref = { tenant: 'acme', subscriber: 's1' }
    const expiries = both.map(
      (settings) => newDelivery(ref, event, { state: 'waiting', now: 0, settings }).expires_at,
    )
    expect(expiries).toEqual([30 * 24 * 3600, 7 * 24 * 3600])
  })
})

describe('settings of deliveries', () => {
  /** Starts the deliveries of the local settings, and of the same with one setting of the other profile. */
  const services = (key: keyof typeof otherSettings) =>
    Promise.all(
      [steadySettings, { ...steadySettings, [key]: otherSettings[key] }].map((settings) =>
        startDeliveries({ settings }),
      ),
    )

  /** Publishes an event to a subscriber that responds so, and runs the sender for some time. */
  async function attempts(service: DeliveryService, response: SubscriberResponse, seconds: number) {
    const subscriber = await service.add()
    service.respond = () => response
    await service.publish()
    await service.runFor(seconds)
    return { subscriber, calls: service.received.length }
  }

  test('deliveries.schedule: the pauses before retries, and the longest Retry-After', async () => {
    const failed = { status: 503, answer: '', retryAfter: '9999' }
    const both = await services('deliveries.schedule')
    const calls = await Promise.all(both.map((service) => attempts(service, failed, 2060)))
    expect(calls.map((one) => one.calls)).toEqual([1, 2])
    const [delivery] = (await both[1]?.deliveries()) ?? []
    expect(delivery?.state).toBe('failed')
  })

  test('deliveries.schedule: the random part of a pause', async () => {
    const { jitter } = localSettings['deliveries.schedule']
    const service = await startDeliveries({ settings: localSettings })
    // The random source of the test returns the smallest number.
    await attempts(service, { status: 500, answer: '' }, 0)
    expect((await service.deliveries())[0]?.next_at).toBe(service.clock.now() + 5000 * (1 - jitter))
  })

  test('deliveries.timeoutSeconds: how long a call may take', async () => {
    const limits: number[] = []
    for (const service of await services('deliveries.timeoutSeconds')) {
      await service.add()
      service.respond = ({ timeoutMilliseconds }) => {
        limits.push(timeoutMilliseconds)
        return { status: 200, answer: '' }
      }
      await service.publish()
      await service.run()
    }
    expect(limits).toEqual([15_000, 1000])
  })

  test('deliveries.disableAfterDays: how long a subscriber may fail', async () => {
    const states: (string | undefined)[] = []
    for (const service of await services('deliveries.disableAfterDays')) {
      const { subscriber } = await attempts(service, { status: 500, answer: '' }, 27 * 3600)
      await service.publish()
      await service.run()
      states.push((await service.subscriber(subscriber))?.state)
    }
    expect(states).toEqual(['active', 'disabled'])
  })

  test('deliveries.slowCalls: when a call is slow, and how many processes slow calls hold', async () => {
    const seen: object[] = []
    for (const service of await services('deliveries.slowCalls')) {
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
      seen.push({ afterMilliseconds, permitted })
      ended.resolve()
    }
    expect(seen).toEqual([
      { afterMilliseconds: 500, permitted: 5 },
      { afterMilliseconds: 0, permitted: 1 },
    ])
  })

  test('deliveries.breaker: the timeouts that open it', async () => {
    const states: string[] = []
    for (const service of await services('deliveries.breaker')) {
      const { subscriber } = await attempts(service, { reason: 'timeout' }, 0)
      states.push(breakerOf(await service.health(subscriber), service.clock.now()))
    }
    expect(states).toEqual(['closed', 'open'])
  })

  test('deliveries.putBackPerMinute: how many held deliveries a minute sends', async () => {
    const queued: number[] = []
    for (const service of await services('deliveries.putBackPerMinute')) {
      const subscriber = await service.add({ state: 'paused' })
      for (let n = 0; n < 12; n += 1) await service.publish()
      await service.change(subscriber, { state: 'active' })
      queued.push((await service.sweep()).queued)
    }
    expect(queued).toEqual([12, 10])
  })

  test('a breaker whose longest pause is below its first one is rejected', () => {
    const breaker = { timeouts: 1, pauseSeconds: 60, maxPauseSeconds: 59 }
    const file = 'shared/settings/profiles/local.json'
    expect(() => profile(file, { 'deliveries.breaker': breaker })).toThrow(/maxPauseSeconds/)
  })
})
