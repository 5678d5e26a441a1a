import { setImmediate } from 'node:timers/promises'
import { marshall } from '@aws-sdk/util-dynamodb'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { SubscriberResponse } from '#shared/deliveries/call-subscriber.ts'
import type { Delivery } from '#shared/deliveries/delivery.ts'
import { deliveryBody, deliveryId, pingType } from '#shared/deliveries/delivery.ts'
import { queuedDelivery } from '#shared/deliveries/schedule-delivery.ts'
import { healthKey } from '#shared/deliveries/subscriber-health.ts'
import { deleteSubscriber } from '#shared/subscribers/subscriber.ts'
import { itemBytes } from '#test/support/capacity.ts'
import { type DeliveryService, startDeliveries, subscriberId } from './delivery-service.ts'

const day = 24 * 3600
const ok = { status: 200, answer: '' }
const failing = { status: 500, answer: 'sorry' }

let service: DeliveryService
beforeEach(async () => {
  service = await startDeliveries()
})

afterEach(() => expect(service.sweepFaults).toEqual([]))

/** Lets subscribers respond with these in turn, and with the last one from then on. */
function respondWith(...responses: SubscriberResponse[]): void {
  let calls = 0
  service.respond = () => responses[Math.min(calls++, responses.length - 1)] ?? ok
}

async function onlyDelivery(): Promise<Delivery> {
  const [delivery, ...others] = await service.deliveries()
  if (!delivery || others.length > 0) throw new Error(`${others.length + 1} deliveries`)
  return delivery
}

const statusesOf = ({ attempts }: Delivery) => attempts.map(({ status, reason }) => status ?? reason)

describe('an event', () => {
  test('is sent to each active subscriber of its tenant that asked for it', async () => {
    const wanted = await service.add({ id: subscriberId(1), events: ['order.*'] })
    await service.add({ id: subscriberId(2), events: ['refund.*'] })
    await service.add({ id: subscriberId(3), tenant_id: 'rival' })
    const event = await service.publish()
    await service.run()
    expect(service.received).toMatchObject([{ subscriber: wanted.id, eventId: event.event_id }])
    expect(service.received[0]?.body).toBe(deliveryBody(event))
  })

  test('without subscribers leaves nothing', async () => {
    await service.publish()
    await service.run()
    expect(service.queued()).toEqual([])
    expect(await service.deliveries()).toEqual([])
  })

  test('that is published twice has one delivery, and is sent once if its first attempt was recorded', async () => {
    await service.add()
    const event = await service.publish()
    await service.run()
    await service.publish(event)
    await service.run()
    expect(service.received).toHaveLength(1)
    expect((await onlyDelivery()).state).toBe('succeeded')
  })

  test('is not sent to a subscriber that was deleted meanwhile', async () => {
    const subscriber = await service.add()
    await service.publish()
    await service.table.transact(deleteSubscriber(subscriber))
    await service.run()
    expect(service.received).toEqual([])
    expect(await service.deliveries()).toEqual([])
    expect(service.deadLetters).toEqual([])
  })

  test('of a blocked tenant waits in the table, and is sent after the tenant is unblocked', async () => {
    await service.add()
    const { event_id: eventId } = await service.publish()
    service.blocked.add('acme')
    await service.runFor(600)
    expect(service.received).toEqual([])
    expect(await service.waiting()).toHaveLength(1)
    service.blocked.delete('acme')
    await service.runFor(120)
    expect(service.received).toMatchObject([{ eventId }])
    expect(service.deadLetters).toEqual([])
  })

  test.each(['active', 'paused'] as const)(
    'of a tenant that is blocked already waits in the table for its %s subscriber',
    async (state) => {
      await service.add({ state })
      service.blocked.add('acme')
      await service.publish()
      await service.runFor(600)
      expect(service.received).toEqual([])
      expect(await service.waiting()).toHaveLength(1)
      expect(service.deadLetters).toEqual([])
    },
  )

  test('of a tenant that is blocked already is sent after the tenant is unblocked', async () => {
    await service.add()
    service.blocked.add('acme')
    const { event_id: eventId } = await service.publish()
    await service.run()
    service.blocked.delete('acme')
    await service.runFor(120)
    expect(service.received).toMatchObject([{ eventId }])
  })

  test.each(['active', 'paused'] as const)(
    'of a blocked tenant is not stored if its subscriber, which was %s, is deleted after the fan-out',
    async (state) => {
      const subscriber = await service.add({ state })
      service.blocked.add('acme')
      await service.publish()
      await service.table.transact(deleteSubscriber(subscriber))
      await service.run()
      expect(await service.deliveries()).toEqual([])
      expect(await service.waiting()).toEqual([])
    },
  )

  test('of a blocked tenant is not stored if its subscriber is deleted while it is read', async () => {
    const subscriber = await service.add()
    await service.publish()
    service.blocked.add('acme')
    service.beforeRemoval(async () => void (await service.table.transact(deleteSubscriber(subscriber))))
    await service.run()
    expect(await service.deliveries()).toEqual([])
    expect(await service.waiting()).toEqual([])
  })

  test('is sent although another message of its batch is broken', async () => {
    await service.add()
    const { event_id: eventId } = await service.publish()
    for (const body of ['{', 'null', '{}']) service.put({ body, group: 'broken' })
    await service.run()
    expect(service.received).toMatchObject([{ eventId }])
    expect(service.deadLetters).toEqual(['{', 'null', '{}'])
  })

  test('is queued by a new fan-out if the queue failed', async () => {
    await service.add()
    service.beforeSend = () => {
      throw new Error('unavailable')
    }
    await expect(service.publish({ event_id: 'e' })).rejects.toThrow('unavailable')
    service.beforeSend = () => {}
    await service.publish({ event_id: 'e' })
    await service.run()
    expect(service.received).toMatchObject([{ eventId: 'e' }])
  })
})

describe('a first attempt that succeeds', () => {
  test('is one write of at most a kilobyte, whatever the subscriber answers', async () => {
    await service.add()
    respondWith({ status: 200, answer: 'é'.repeat(600) })
    await service.publish({ data: { id: 'o'.repeat(36), tenant_id: 'acme', amount: 1999, currency: 'EUR' } })
    await service.run()
    const delivery = await onlyDelivery()
    expect(itemBytes(marshall(delivery))).toBeLessThanOrEqual(1024)
    expect(delivery.attempts[0]?.answer).toMatch(/^é{50,}$/)
  })

  test('writes only the delivery', async () => {
    const subscriber = await service.add()
    await service.publish()
    const written: string[] = []
    for (const name of ['put', 'update', 'transact', 'insertMany'] as const) {
      const original = service.table[name] as (input: never) => Promise<never>
      Object.assign(service.table, {
        [name]: (input: never) => {
          written.push(name)
          return original(input)
        },
      })
    }
    await service.run()
    expect(written).toEqual(['put'])
    expect(await service.health(subscriber)).toBeUndefined()
  })

  test('keeps status, time and answer', async () => {
    await service.add()
    service.respond = () => {
      service.clock.advance(120)
      return { status: 204, answer: 'thanks' }
    }
    const event = await service.publish()
    await service.run()
    expect(await onlyDelivery()).toMatchObject({
      state: 'succeeded',
      event_id: event.event_id,
      type: 'order.placed',
      attempted: 1,
      attempts: [{ at: event.occurred_at, status: 204, milliseconds: 120, answer: 'thanks' }],
    })
  })
})

describe('a failed attempt', () => {
  test.each<[string, SubscriberResponse, string]>([
    ['an error', failing, 'status'],
    ['a redirect, which is not followed', { status: 302, answer: '' }, 'redirect'],
    ['a timeout', { reason: 'timeout' }, 'timeout'],
    ['a private address', { reason: 'address' }, 'address'],
    ['a broken connection', { reason: 'connection' }, 'connection'],
  ])('with %s is recorded and repeated after 5 seconds', async (_, response, reason) => {
    await service.add()
    respondWith(response, ok)
    await service.publish()
    await service.run()
    expect(service.queued()).toEqual([{ delaySeconds: 5, attempt: 2 }])
    expect(await onlyDelivery()).toMatchObject({ state: 'waiting', attempts: [{ reason }] })
    await service.runFor(5)
    expect(service.received.map(({ eventId }) => eventId)).toEqual(['event-1', 'event-1'])
    expect(await onlyDelivery()).toMatchObject({ state: 'succeeded', attempted: 2 })
  })

  test('is repeated as the schedule says, and the delivery ends as failed', async () => {
    const subscriber = await service.add()
    respondWith(failing)
    const event = await service.publish()
    await service.runFor(30 * 3600)
    const start = Date.parse(event.occurred_at)
    const pauses = [5, 300, 1800, 7200, 18_000, 36_000, 36_000]
    const expected = [0]
    for (const pause of pauses) expected.push((expected.at(-1) ?? 0) + pause)
    const actual = service.received.map(({ at }) => (at - start) / 1000)
    // A later retry waits for the next run of the sweep.
    for (const [index, at] of actual.entries()) {
      expect(at).toBeGreaterThanOrEqual(expected[index] ?? Number.NaN)
      expect(at).toBeLessThanOrEqual((expected[index] ?? Number.NaN) + 60 * index)
    }
    expect(actual).toHaveLength(8)
    expect(await onlyDelivery()).toMatchObject({ state: 'failed', attempted: 8 })
    expect(await service.waiting()).toEqual([])
    expect(service.deadLetters).toEqual([])
    expect((await service.subscriber(subscriber))?.state).toBe('active')
  })

  test('waits in the table if its retry is due after 15 minutes, and never as a message', async () => {
    await service.add()
    respondWith(failing)
    await service.publish()
    await service.runFor(5 + 300)
    expect(await onlyDelivery()).toMatchObject({ state: 'waiting', attempted: 3 })
    expect(service.queued()).toEqual([])
    expect(await service.waiting()).toMatchObject([{ attempt: 4 }])
  })

  test('honors a Retry-After', async () => {
    await service.add()
    respondWith({ status: 503, answer: '', retryAfter: '120' })
    await service.publish()
    await service.run()
    expect(service.queued()).toEqual([{ delaySeconds: 120, attempt: 2 }])
  })

  test('with 410 disables the subscriber at once, and holds the event', async () => {
    const subscriber = await service.add()
    respondWith({ status: 410, answer: '' }, ok)
    await service.publish()
    await service.run()
    expect(await service.subscriber(subscriber)).toMatchObject({ state: 'disabled', reason: 'gone' })
    expect(await onlyDelivery()).toMatchObject({ state: 'suspended', attempted: 1 })
    expect(service.alerts).toEqual(['SUBSCRIBER_DISABLED'])
    expect(service.alertsAbout).toEqual([{ tenant: subscriber.tenant_id, subscriber: subscriber.id }])
    expect(await service.audit()).toMatchObject([
      {
        action: 'subscriber.disable',
        target: `subscriber/${subscriber.id}`,
        actor_id: 'deliveries',
        correlation_id: 'request-1',
        before: { state: 'active' },
        after: { state: 'disabled', reason: 'gone' },
      },
    ])
  })

  test('with 410 disables nothing if the subscriber has changed meanwhile', async () => {
    const subscriber = await service.add()
    service.respond = async () => {
      await service.change(subscriber, { url: 'https://new.example.com' })
      return { status: 410, answer: '' }
    }
    await service.publish()
    await service.run()
    expect((await service.subscriber(subscriber))?.state).toBe('active')
    expect(service.alerts).toEqual([])
  })
})

describe('a subscriber that fails', () => {
  beforeEach(async () => {
    service = await startDeliveries({ inMemory: true })
  })

  async function failFor(seconds: number) {
    respondWith(failing)
    const end = service.clock.now() + seconds * 1000
    while (service.clock.now() < end) {
      await service.publish()
      await service.runFor(6 * 3600)
    }
  }

  /** The time from the first failure to the second one that is recorded: the sum of the first retries. */
  const secondFailure = 2.6 * 3600

  test('for 5 days is disabled once, and its events are suspended', async () => {
    const subscriber = await service.add()
    await failFor(5 * day)
    expect((await service.subscriber(subscriber))?.state).toBe('active')
    await failFor(secondFailure)
    expect(await service.subscriber(subscriber)).toMatchObject({ state: 'disabled', reason: 'failing' })
    expect(service.alerts).toEqual(['SUBSCRIBER_DISABLED'])
    const { event_id: eventId } = await service.publish()
    const calls = service.received.length
    await service.runFor(3600)
    expect(service.received).toHaveLength(calls)
    const suspended = (await service.deliveries()).find(({ event_id }) => event_id === eventId)
    expect(suspended).toMatchObject({ state: 'suspended', attempted: 0 })
  })

  test('is not disabled by a new failure after days without a call', async () => {
    const subscriber = await service.add()
    respondWith(failing)
    for (const _ of [1, 2]) {
      await service.publish()
      await service.runFor(2 * day)
      service.clock.advance(4 * day * 1000)
    }
    expect((await service.subscriber(subscriber))?.state).toBe('active')
  })

  test('does not count from a failure during a call that succeeded', async () => {
    const subscriber = await service.add()
    service.respond = async () => {
      if (service.received.length === 1) return failing
      while (!(await service.health(subscriber))?.failed_at) await setImmediate()
      return ok
    }
    for (const _ of [1, 2]) await service.publish()
    await service.run()
    expect(await service.health(subscriber)).toMatchObject({ failing_since: 0 })
  })

  test('has its failures recorded once an hour', async () => {
    const subscriber = await service.add()
    respondWith(failing)
    await service.publish()
    await service.run()
    const first = await service.health(subscriber)
    await service.runFor(3599)
    expect(await service.health(subscriber)).toEqual(first)
    await service.publish()
    await service.runFor(3600)
    expect(await service.health(subscriber)).not.toEqual(first)
  })

  test('is not disabled if one of its deliveries succeeded', async () => {
    const subscriber = await service.add()
    await failFor(3 * day)
    respondWith(ok, failing)
    await service.publish()
    await service.run()
    expect(await service.health(subscriber)).toMatchObject({ failing_since: 0, failed_at: 0 })
    await failFor(3 * day)
    expect((await service.subscriber(subscriber))?.state).toBe('active')
  })

  test('has 5 days from its last change, as after it was resumed', async () => {
    const subscriber = await service.add()
    await failFor(4 * day)
    await service.change(subscriber, {})
    await failFor(4 * day)
    expect((await service.subscriber(subscriber))?.state).toBe('active')
  })
})

describe('a paused subscriber', () => {
  test('gets the suspended events after it is resumed, in their order', async () => {
    const subscriber = await service.add({ state: 'paused' })
    for (let n = 0; n < 3; n += 1) {
      await service.publish()
      service.clock.advance(1000)
    }
    await service.runFor(600)
    expect(service.received).toEqual([])
    expect((await service.deliveries()).map(({ state }) => state)).toEqual([
      'suspended',
      'suspended',
      'suspended',
    ])
    await service.change(subscriber, { state: 'active' })
    await service.sweep()
    await service.run()
    expect(service.received.map(({ eventId }) => eventId).toSorted()).toEqual([
      'event-1',
      'event-2',
      'event-3',
    ])
    expect((await service.deliveries()).map(({ state }) => state)).toEqual(Array(3).fill('succeeded'))
    expect(await service.waiting()).toEqual([])
  })

  test('holds what was queued before, and its retries', async () => {
    const subscriber = await service.add()
    respondWith(failing)
    await service.publish()
    await service.run()
    await service.change(subscriber, { state: 'paused' })
    service.clock.advance(1000)
    await service.publish()
    await service.runFor(60)
    expect((await service.deliveries()).map(({ state, attempted }) => [state, attempted])).toEqual([
      ['suspended', 1],
      ['suspended', 0],
    ])
    expect(await service.waiting()).toHaveLength(2)
  })

  test('keeps the entry of a delivery that is suspended again before the sweep removes the earlier entry', async () => {
    const subscriber = await service.add()
    respondWith(failing)
    await service.publish()
    await service.run()
    await service.change(subscriber, { state: 'paused' })
    await service.runFor(60)
    await service.change(subscriber, { state: 'active' })
    service.beforeRemoval(async () => {
      await service.change(subscriber, { state: 'paused' })
      await service.run()
    })
    await service.sweep()
    expect((await onlyDelivery()).state).toBe('suspended')
    expect(await service.waiting()).toHaveLength(1)
  })
})

describe('a subscriber whose health cannot be written', () => {
  test.each([
    ['a failure', failing],
    ['a success after a failure', ok],
  ])('is called once for an attempt with %s, which is recorded', async (_, response) => {
    const subscriber = await service.add()
    await service.table.put({
      item: {
        ...healthKey({ tenant: 'acme', subscriber: subscriber.id }),
        ...(response === ok && { failed_at: 1 }),
      },
      condition: 'none',
    })
    service.table.update = async () => {
      throw new Error('throttled')
    }
    respondWith(response)
    await service.publish()
    await service.run()
    expect(service.received).toHaveLength(1)
    expect(await onlyDelivery()).toMatchObject({ attempted: 1 })
    expect(service.deadLetters).toEqual([])
    expect(service.jobs).toMatchObject([{ code: 'SUBSCRIBER_HEALTH_NOT_RECORDED', failed: 1 }])
  })
})

describe('a test of a subscriber', () => {
  const ping = async (state: 'active' | 'paused') => {
    const { id } = await service.add({ state })
    const ref = { tenant: 'acme', subscriber: id }
    const event = {
      event_id: 'ping-1',
      type: pingType,
      version: 1,
      occurred_at: new Date(service.clock.now()).toISOString(),
      source: 'commerce-api' as const,
      correlation_id: 'c',
      data: { tenant_id: 'acme' },
    }
    const delivery = deliveryId(ref, event)
    service.put(queuedDelivery({ ...ref, delivery, attempt: 1, event }))
    await service.runFor(3600)
  }

  test.each(['active', 'paused'] as const)('is sent once while it is %s', async (state) => {
    respondWith(failing)
    await ping(state)
    expect(service.received).toHaveLength(1)
    expect(await onlyDelivery()).toMatchObject({ state: 'failed', attempts: [{ status: 500 }] })
  })
})

describe('a message that is delivered again', () => {
  test('after its attempt was recorded calls nobody, and the sweep sends the next message', async () => {
    await service.add()
    respondWith(failing)
    let sends = 0
    await service.publish()
    service.beforeSend = () => {
      sends += 1
      if (sends === 1) throw new Error('the process ended')
    }
    await service.run()
    expect(service.received).toHaveLength(1)
    await service.runFor(120)
    expect(service.received).toHaveLength(2)
    expect(statusesOf(await onlyDelivery())).toEqual([500, 500])
  })

  test('while its attempt is made calls once more, and all further attempts are made once', async () => {
    await service.add()
    respondWith(failing)
    const event = await service.publish()
    await service.publish(event)
    await service.runFor(30 * 3600)
    expect(await onlyDelivery()).toMatchObject({ state: 'failed', attempted: 8 })
    expect(service.received).toHaveLength(8 + 1)
  })

  test('after its attempt was recorded adds no call', async () => {
    await service.add()
    respondWith(failing)
    const event = await service.publish()
    await service.run()
    await service.publish(event)
    await service.runFor(30 * 3600)
    expect(service.received).toHaveLength(8)
  })

  test('without the event, after its delivery has expired, is dropped', async () => {
    const { id } = await service.add()
    service.put(queuedDelivery({ tenant: 'acme', subscriber: id, delivery: subscriberId(9), attempt: 2 }))
    await service.run()
    expect(service.received).toEqual([])
    expect(service.deadLetters).toEqual([])
  })
})
