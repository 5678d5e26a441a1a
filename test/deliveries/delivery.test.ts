import { beforeEach, describe, expect, test } from '@jest/globals'
import {
  asDelivery,
  type Delivery,
  type DeliveryState,
  deliveryBody,
  deliveryId,
  deliveryStates,
  deliveryTransitions,
  lateMilliseconds,
  newDelivery,
  resendDelivery,
  skipDelivery,
  waitingEntry,
  waitingRange,
} from '#shared/deliveries/delivery.ts'
import { systemClock, timeOf } from '#shared/platform/base/clock.ts'
import type { Table } from '#shared/platform/table/table.ts'
import { localSettings } from '#test/support/settings.ts'
import { newTable, openTable } from '#test/support/tables.ts'

const ref = { tenant: 'acme', subscriber: 's1' }
const event = {
  event_id: 'e1',
  type: 'order.placed',
  version: 1,
  occurred_at: '2026-01-02T03:04:05.678Z',
  source: 'commerce-api' as const,
  correlation_id: 'c1',
  data: { id: 'o1', tenant_id: 'acme' },
}
const now = Date.parse('2026-01-02T03:04:06.000Z')
const clockAt = (milliseconds: number) => ({ ...systemClock, now: () => milliseconds })
const clock = clockAt(now)
const delivery = newDelivery(ref, event, { state: 'waiting', now, settings: localSettings })

describe('a delivery', () => {
  test('has one id for each event and subscriber, with the time of the event', () => {
    const id = deliveryId(ref, event)
    expect(deliveryId(ref, { ...event })).toBe(id)
    expect(deliveryId({ ...ref, subscriber: 's2' }, event)).not.toBe(id)
    expect(timeOf(id)).toBe(Date.parse(event.occurred_at))
  })

  test('sends the shape of an event, without trace and baggage', () => {
    const traced = { ...event, traceparent: '00-1-2-01', tracestate: 'a=b', baggage: 'user=jane' }
    expect(JSON.parse(deliveryBody(traced))).toEqual(event)
  })

  test('expires after the retention', () => {
    const days = localSettings['deliveries.retentionDays']
    expect(delivery.expires_at).toBe(now / 1000 + days * 24 * 3600)
  })

  test.each([
    ['succeed', ['waiting', 'suspended']],
    ['fail', ['waiting', 'suspended']],
    ['retry', ['waiting', 'suspended']],
    ['suspend', ['waiting', 'suspended']],
    ['skip', ['waiting', 'suspended']],
    ['resend', [...deliveryStates]],
  ] as const)('may %s from %j only', (trigger, from) => {
    const allowed: DeliveryState[] = deliveryStates.filter((state) =>
      deliveryTransitions.allows(trigger, state),
    )
    expect(allowed).toEqual(from)
  })
})

describe('a stored delivery', () => {
  let table: Table
  beforeEach(async () => {
    table = openTable(await newTable())
    await table.transact([{ item: { ...delivery }, condition: 'none' }])
  })
  const read = async (): Promise<Delivery> => {
    const item = await table.get({ pk: delivery.pk, sk: delivery.sk })
    if (!item) throw new Error('the delivery is absent')
    return asDelivery(item)
  }
  const waiting = async (by: number) => (await table.readRange(waitingRange(ref, by, 10))).items

  test('waits in the order of the time it is due, and only with the deliveries of its subscriber', async () => {
    const others = { tenant: 'acme', subscriber: 's2' }
    const entries = [
      waitingEntry(ref, delivery, 2000, clock),
      waitingEntry(ref, { ...delivery, sk: 'd2' }, 1000, clock),
    ]
    for (const item of [...entries, waitingEntry(others, delivery, 1, clock)])
      await table.put({ item, condition: 'none' })
    expect(await waiting(2000)).toEqual(entries.toReversed())
    expect(await waiting(1999)).toEqual([entries[1]])
  })

  test('is sent again with a number above that of an attempt in progress, and its entry waits', async () => {
    const ended = { ...delivery, state: 'failed' as const, attempted: 8, expires_at: 0 }
    await table.put({ item: { ...ended }, condition: 'none' })
    const { changes, message } = resendDelivery('acme', ended, { clock, settings: localSettings })
    await table.transact(changes)
    expect(message).toEqual({ ...ref, delivery: delivery.sk, attempt: 10 })
    expect(await read()).toMatchObject({
      ...{ state: 'waiting', uncounted_attempts: 9, attempted: 9 },
      expires_at: delivery.expires_at,
    })
    expect(await waiting(now + lateMilliseconds - 1)).toEqual([])
    expect(await waiting(now + lateMilliseconds)).toMatchObject([{ delivery: delivery.sk, attempt: 10 }])
  })

  test('has one entry after it is sent again twice', async () => {
    await table.transact(resendDelivery('acme', delivery, { clock, settings: localSettings }).changes)
    const later = { clock: clockAt(now + 5), settings: localSettings }
    await table.transact(resendDelivery('acme', await read(), later).changes)
    expect(await waiting(now + 5 + lateMilliseconds)).toHaveLength(1)
  })

  test('is dropped with its entry, once', async () => {
    await table.transact(resendDelivery('acme', delivery, { clock, settings: localSettings }).changes)
    const skipped = skipDelivery('acme', await read())
    expect(await table.transact(skipped)).toBeUndefined()
    expect((await read()).state).toBe('skipped')
    expect(await waiting(now + lateMilliseconds)).toEqual([])
    expect(await table.transact(skipped)).toMatchObject({ index: 0 })
  })
})
