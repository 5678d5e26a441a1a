import { describe, expect, test } from '@jest/globals'
import { newDelivery } from '#shared/subscribers/delivery.ts'
import { mayAdd, rotateSecret } from '#shared/subscribers/subscriber.ts'
import { isSubscriberUrl } from '#shared/subscribers/subscriber-address.ts'
import { subscriberOf } from '#test/subscribers/subscribers.ts'
import { localSettings, otherSettings } from '#test/support/settings.ts'

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
