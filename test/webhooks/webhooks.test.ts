import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { eraseOrder } from '#bin/commands/tenants/erase-order.ts'
import { findCart } from '#shared/carts/cart-store.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import { inboxKey } from '#shared/webhooks/inbox.ts'
import { eventsOf } from '#test/support/item-events.ts'
import { placeOrder } from '#test/support/place-order.ts'
import { handleReceived, receiveEvent, sendEvent } from '#test/support/received-events.ts'
import { startService } from '#test/support/service.ts'
import { eventOf, signed } from '#test/support/signed-events.ts'

const service = await startService()

const send = (event: object, headers?: Record<string, string>) => sendEvent(service, event, headers)
const handle = (eventId: string) => handleReceived(service, eventId)
const receive = (event: ReturnType<typeof eventOf>) => receiveEvent(service, event)

const ago = (seconds: number) => new Date(Date.now() - seconds * 1000)

describe('POST /v1/webhooks/events', () => {
  test('stores an event once, and returns the same response for a duplicate', async () => {
    const event = eventOf('cart.emptied', { id: 'c' })
    const first = await send(event)
    const again = await send(event)
    expect([first.status, first.body, again.status, again.body]).toEqual([202, undefined, 202, undefined])
    expect(await handle(event.event_id)).toBe('ignored')
    expect(await handle(event.event_id)).toBe('known')
  })

  test('rejects an id that differs from the signed one', async () => {
    const event = eventOf('cart.emptied', { id: 'c' })
    const answer = await send(event, signed(JSON.stringify(event), { id: 'another' }))
    expect(answer).toMatchObject({
      status: 400,
      json: { error: { details: { fields: { event_id: { reason: 'other_than_signed' } } } } },
    })
  })

  test.each([
    ['2026-01-01T01:00:00+01:00', 'VALIDATION.field.format', 'utc_required'],
    ['2026-01-01T00:00:00+00:00', 'VALIDATION.field.format', 'utc_required'],
    ['2026-01-01T00:00:00-00:00', 'VALIDATION.field.format', 'utc_required'],
    ['2026-01-01T00:00:00z', 'VALIDATION.field.format', 'utc_required'],
    ['2026-01-01T00:00:00', 'VALIDATION.datetime.timezone_required', 'timezone_required'],
    ['yesterdayZ', 'VALIDATION.field.format', 'date-time'],
  ])('rejects occurred_at %s, because it is not UTC ending in Z', async (at, error, reason) => {
    const { status, json } = await send(eventOf('cart.emptied', { id: 'c' }, { occurred_at: at }))
    expect([status, json.error.code, json.error.details.fields.occurred_at.reason]).toEqual([
      400,
      error,
      reason,
    ])
  })

  test('rejects data without an id', async () => {
    const { json } = await send({ ...eventOf('cart.emptied', { id: 'c' }), data: {} })
    const required = { code: 'VALIDATION.field.required', reason: 'required', actual: 'absent' }
    expect(json.error).toMatchObject({ code: required.code, details: { fields: { 'data.id': required } } })
  })

  test('rejects numbers with an excessive number of digits', async () => {
    const event = eventOf('cart.emptied', { id: 'c', numbers: [] })
    const body = JSON.stringify(event).replace('[]', `[${Array(40_000).fill('1e20').join()}]`)
    const headers = signed(body)
    const answer = await service.call({ method: 'POST', path: '/v1/webhooks/events', headers, body })
    expect(answer.json.error).toMatchObject({ code: 'VALIDATION.body.too_large', http: 413 })
  })

  const ahead = (seconds: number) => ({ occurred_at: ago(-seconds).toISOString() })
  test('rejects an event later than the tolerance, and does not store it', async () => {
    const event = eventOf('cart.updated', { id: 'c' }, ahead(330))
    const { status, json } = await send(event)
    expect([status, json.error.code, json.error.details.fields.occurred_at]).toMatchObject([
      400,
      'VALIDATION.date.range',
      { reason: 'in_future', not_after: expect.stringMatching(/Z$/), actual: event.occurred_at },
    ])
    expect(await service.table.get(inboxKey(event.event_id))).toBeUndefined()
  })

  test('accepts an event ahead of the clock within the tolerance', async () => {
    expect((await send(eventOf('cart.updated', { id: 'c' }, ahead(280)))).status).toBe(202)
  })
})

describe('cart.updated with only cart_id and correlation_id', () => {
  const about = { cart_id: 'bare', tenant_id: 'minimal', correlation_id: 'corr-1' }
  const updated = (data: object = {}, more: object = {}) =>
    receive(eventOf('cart.updated', { id: 'bare', ...about, ...data }, more))

  test('is ignored although the cart is known', async () => {
    await updated({ cart_id: 'known', amount_minor: 700, currency: 'EUR' })
    expect(await updated({ cart_id: 'known' })).toBe('ignored')
  })

  test('is ignored if the cart is unknown', async () => {
    expect(await updated({ cart_id: 'unknown' })).toBe('ignored')
  })

  test('keeps the known amount, and does not make an earlier amount stale that arrives later', async () => {
    await updated({ amount_minor: 700, currency: 'EUR' }, { occurred_at: '2026-01-01T00:00:00Z' })
    await updated({}, { occurred_at: '2026-01-03T00:00:00Z' })
    await updated({ amount_minor: 800, currency: 'EUR' }, { occurred_at: '2026-01-02T00:00:00Z' })
    expect(await findCart(service.table, 'minimal', 'bare')).toMatchObject({ amount_minor: 800 })
  })
})

test('events of one cart that are handled at the same time are all handled at the first attempt', async () => {
  const events = Array.from({ length: 10 }, (_, day) => {
    const data = { id: 'busy', tenant_id: 'crowd', amount_minor: day, currency: 'EUR' }
    return eventOf('cart.updated', data, { occurred_at: `2026-01-1${day}T00:00:00Z` })
  })
  for (const event of events) await send(event)
  const ended = await Promise.allSettled(events.map(({ event_id }) => handle(event_id)))
  expect(ended).toEqual(events.map(() => ({ status: 'fulfilled', value: 'handled' })))
  expect(await findCart(service.table, 'crowd', 'busy')).toMatchObject({ amount_minor: 9 })
})

describe('the correlation id of an event', () => {
  const correlationOf = async (more: object, data: object) => {
    const event = eventOf('cart.updated', { id: 'c', ...data }, more)
    const body = JSON.stringify(event)
    const headers = { ...signed(body), 'X-Correlation-Id': 'of-header' }
    await send(event, headers)
    return (await service.table.get(inboxKey(event.event_id)))?.correlation_id
  }

  test.each([
    ['its own', { correlation_id: 'of-event' }, { correlation_id: 'of-data' }, 'of-event'],
    ['the one in its data', {}, { correlation_id: 'of-data' }, 'of-data'],
    [
      'that of the request if its data contains none that is valid',
      {},
      { correlation_id: 'two words' },
      'of-header',
    ],
    ['that of the request if the event has none', {}, {}, 'of-header'],
  ])('is %s', async (_, more, data, expected) => {
    expect(await correlationOf(more, data)).toBe(expected)
  })
})

test('the correlation id of an order is that of the event that changed it', async () => {
  const { id } = (await placeOrder(service, 'correlated')).json
  await receive(eventOf('order.paid', { id, correlation_id: 'checkout-7' }))
  const [order] = await service.items('correlated', 'order')
  expect(order).toMatchObject({ outbox: { correlation_id: 'checkout-7' } })
})

test('an order is paid once by any number of events', async () => {
  const { id } = (await placeOrder(service, 'payer')).json
  for (let n = 0; n < 2; n += 1) await receive(eventOf('order.paid', { id }))
  const [order] = await service.items('payer', 'order')
  expect(order).toMatchObject({ status: 'paid', version: 2 })
  expect(eventsOf(order as never).filter(({ type }) => type === 'order.paid')).toHaveLength(1)
})

describe('an event that has no effect', () => {
  const correlation_id = 'corr-9'
  /** Returns its result, its state in the inbox, and what was logged about it. */
  async function resultOf(type: string, data: Record<string, unknown> & { id: string }) {
    const event = eventOf(type, data, { correlation_id })
    await send(event)
    service.events.length = 0
    const result = await handle(event.event_id).catch(({ message }) => message)
    const state = (await service.table.get(inboxKey(event.event_id)))?.state
    return { event, result, state, logged: service.events }
  }
  const place = async (tenant: string): Promise<string> => (await placeOrder(service, tenant)).json.id

  test('because its type has no handler is ignored and counted', async () => {
    const { event, logged, ...rest } = await resultOf('parcel.packed', { id: 'p' })
    expect(rest).toEqual({ result: 'ignored', state: 'ignored' })
    expect(logged).toMatchObject([
      {
        code: 'EVENT_IGNORED',
        eventId: event.event_id,
        eventType: 'parcel.packed',
        correlation: { id: correlation_id },
      },
    ])
  })

  test('because it states nothing is ignored and counted by its type', async () => {
    const { logged } = await resultOf('cart.updated', { id: 'silent' })
    expect(logged).toMatchObject([{ code: 'EVENT_IGNORED', eventType: 'cart.updated' }])
  })

  test('because it is a duplicate is handled and not logged', async () => {
    const id = await place('repeated')
    await resultOf('order.paid', { id })
    const { event: _, ...again } = await resultOf('order.paid', { id })
    expect(again).toEqual({ result: 'handled', state: 'handled', logged: [] })
  })

  test.each([
    ['an unknown order', 'order.paid', 'NOT_FOUND.order'],
    ['an unknown refund', 'refund.succeeded', 'NOT_FOUND.refund'],
  ])('because it names %s stays in the queue and is named in the log', async (_, type, code) => {
    const id = '01900000-0000-8000-8000-000000000000'
    const { event, logged, ...rest } = await resultOf(type, { id })
    expect(rest).toEqual({ result: code, state: 'received' })
    expect(logged).toMatchObject([
      { code: 'EVENT_FAILED', eventId: event.event_id, eventType: type, fault: { code } },
    ])
  })

  test('because its order was erased is ignored', async () => {
    const id = await place('erased')
    await eraseOrder({ table: service.table, clock: systemClock, name: 'jane' }, 'erased', id)
    const { result } = await resultOf('order.paid', { id, tenant_id: 'erased' })
    expect(result).toBe('ignored')
  })

  test('because its order has the status of another release stays in the queue', async () => {
    const id = await place('rolled-back')
    const [order] = await service.items('rolled-back', 'order')
    await service.table.put({ item: { ...(order as Item), status: 'later' }, condition: 'none' })
    const { result, state } = await resultOf('order.paid', { id })
    expect([result, state]).toEqual(['an order has the status of another release', 'received'])
  })

  test('because it names the order of another tenant stays in the queue', async () => {
    const id = await place('owner')
    const { result, state } = await resultOf('order.paid', { id, tenant_id: 'another' })
    expect([result, state]).toEqual(['NOT_FOUND.order', 'received'])
    expect(await service.items('owner', 'order')).toMatchObject([{ status: 'active' }])
  })
})

test('an event is received whatever JSON its data holds, and kept to the last digit', async () => {
  const data = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 20 }), { maxKeys: 5 })
  const edges = [{ '': 1 }, { n: 1e300 }, { n: 5e-324 }, { n: 2 ** 60 }, { n: -1e126 }, { s: '\ud800' }]
  const check = async (more: Record<string, unknown>) => {
    const event = {
      event_id: crypto.randomUUID(),
      type: 'loyalty.earned',
      occurred_at: '2026-01-01T00:00:00.000Z',
      data: { ...more, id: 'l1', tenant_id: 'any' },
    }
    expect(await receive(event)).toBe('ignored')
    const kept = await service.table.get(inboxKey(event.event_id))
    expect(JSON.parse(String(kept?.event))).toEqual(JSON.parse(JSON.stringify(event)))
  }
  const examples = edges.map((edge): [Record<string, unknown>] => [edge])
  await fc.assert(fc.asyncProperty(data, check), { numRuns: 100, seed: 20_260_403, examples })
})
