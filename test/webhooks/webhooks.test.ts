import { beforeAll, describe, expect, test } from '@jest/globals'
import { systemClock } from '#shared/platform/clock.ts'
import { handleEvent } from '#shared/webhooks/handle-event.ts'
import { type Service, startService } from '#test/support/service.ts'
import { eventOf, signed, webhookSecret } from '#test/support/signed-events.ts'

let service: Service
beforeAll(async () => {
  service = await startService()
})

const send = (event: object, headers = signed(JSON.stringify(event))) =>
  service.call({ method: 'POST', path: '/v1/webhooks/events', headers, body: JSON.stringify(event) })
const handle = (eventId: string) =>
  handleEvent(eventId, { table: service.table, clock: systemClock, settings: service.settings })

describe('an event', () => {
  test('is received once, and a duplicate is answered alike', async () => {
    const event = eventOf('cart.emptied', { id: 'c' })
    const first = await send(event)
    const again = await send(event)
    expect([first.status, first.body, again.status, again.body]).toEqual([202, undefined, 202, undefined])
    expect(await handle(event.event_id)).toBe('handled')
    expect(await handle(event.event_id)).toBe('known')
  })

  test('is taken with either of two keys while they are changed', async () => {
    const other = `whsec_${Buffer.from('the key that comes after it').toString('base64')}`
    const changing = await startService({ secrets: { webhooks: `${webhookSecret} ${other}` } })
    for (const secret of [webhookSecret, other]) {
      const event = eventOf('cart.emptied', { id: 'c' })
      const body = JSON.stringify(event)
      const answer = await changing.call({
        method: 'POST',
        path: '/v1/webhooks/events',
        headers: signed(body, { secret }),
        body,
      })
      expect(answer.status).toBe(202)
    }
  })

  const ago = (seconds: number) => new Date(Date.now() - seconds * 1000)
  test.each([
    ['that is too old', (body: string) => signed(body, { at: ago(310) })],
    ['that comes from the future', (body: string) => signed(body, { at: ago(-310) })],
    ['signed with another key', (body: string) => signed(body, { secret: 'whsec_b3RoZXI=' })],
    ['whose body was changed', (body: string) => signed(`${body} `, { id: JSON.parse(body).event_id })],
    ['without a signature', () => ({ 'Content-Type': 'application/json' })],
  ])('%s is refused', async (_, headersOf) => {
    const event = eventOf('cart.emptied', { id: 'c' })
    const answer = await send(event, headersOf(JSON.stringify(event)) as Record<string, string>)
    expect([answer.status, answer.json.error.code]).toEqual([401, 'AUTH.invalid_credentials'])
  })

  test('at either end of the window is taken', async () => {
    for (const seconds of [295, -295]) {
      const event = eventOf('cart.emptied', { id: 'c' })
      expect((await send(event, signed(JSON.stringify(event), { at: ago(seconds) }))).status).toBe(202)
    }
  })

  test('whose id is another than the signed one is refused', async () => {
    const event = eventOf('cart.emptied', { id: 'c' })
    const answer = await send(event, signed(JSON.stringify(event), { id: 'another' }))
    expect([answer.status, answer.json.error.details.fields.event_id.reason]).toEqual([
      400,
      'other_than_signed',
    ])
  })
})

test('an order is paid once by however many events, and not before it is there', async () => {
  const early = eventOf('order.paid', { id: '01900000-0000-7000-8000-000000000000' })
  await send(early)
  await expect(handle(early.event_id)).rejects.toThrow('NOT_FOUND.order')
  const placed = await service.call({
    method: 'POST',
    path: '/v1/orders',
    as: { tenant: 'payer', role: 'Editor' },
    headers: { 'Idempotency-Key': 'k' },
    body: { cart_id: 'c', amount_minor: 1, currency: 'EUR' },
  })
  for (let n = 0; n < 2; n += 1) {
    const event = eventOf('order.paid', { id: placed.json.id })
    await send(event)
    await handle(event.event_id)
  }
  const [order] = await service.items('payer', 'order')
  expect(order).toMatchObject({ status: 'paid', version: 2, outbox: { events: [{ type: 'order.paid' }] } })
})
