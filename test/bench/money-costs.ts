import { startBudget, systemClock, timestamp } from '#shared/platform/base/clock.ts'
import { handleEvent } from '#shared/webhooks/handle-event.ts'
import { eventContext } from '#test/support/received-events.ts'
import { eventOf, signed } from '#test/support/signed-events.ts'
import type { Meter } from './meter.ts'

const editor = { tenant: 'acme', role: 'Editor', scope: 'codes:read codes:write' }
const expiry_at = '2099-01-01T00:00:00Z'

/** Measures refunds, received events and verifications of discounts at DynamoDB, with a fake provider. */
export async function moneyCosts({ service, measure, measureWork }: Meter): Promise<void> {
  const post = (path: string, key: string, body: unknown, headers: Record<string, string> = {}) => ({
    method: 'POST',
    path,
    as: editor,
    headers: { 'Idempotency-Key': key, ...headers },
    body,
  })
  const first = post('/v1/refunds', 'first', { charge_id: 'ch_first_bench', amount: 100 })
  await measure('refund a charge, the first of a process', first)
  const refund = post('/v1/refunds', 'refund', { charge_id: 'ch_bench', amount: 100 })
  await measure('refund a charge', refund)
  await measure('replay a refund', refund)
  const declined = { charge_id: 'ch_declined_bench', amount: 100 }
  await measure('be refused a refund', post('/v1/refunds', 'declined', declined))

  const data = { id: 'cart-1', tenant_id: 'acme', amount_minor: 5000, currency: 'EUR' }
  const event = eventOf('cart.updated', data)
  const body = JSON.stringify(event)
  const received = { method: 'POST', path: '/v1/webhooks/events', headers: signed(body), body }
  await measure('receive an event', received)
  await measure('receive it again', received)
  const handle = (table: typeof service.table) =>
    handleEvent(event.event_id, eventContext(service.runtime, table))
  const open = () => service.runtime.openTable(startBudget(systemClock, 10_000))
  await measureWork('handle it', () => handle(open()))
  await measureWork('handle it again', () => handle(open()))

  await service.call(post('/codes', 'ten', { code: 'TEN', type: 'percent-10', name: 'Ten', expiry_at }))
  const onCart = { 'X-Cart-Id': 'cart-1' }
  const verify = post('/discount/verify', 'verify', { code: 'TEN' }, onCart)
  await measure('verify a discount on a cart', verify)
  await measure('replay a verification', verify)
  await measure(
    'verify it again with another key',
    post('/discount/verify', 'again', { code: 'TEN' }, onCart),
  )
  await measure(
    'verify an unknown code on the same cart',
    post('/discount/verify', 'guess', { code: 'NONE' }, onCart),
  )
  await service.call(post('/codes', 'more', { code: 'MORE', type: 'percent-25', name: 'More', expiry_at }))
  await measure(
    'verify a second code on the cart',
    post('/discount/verify', 'second', { code: 'MORE' }, onCart),
  )
  const later = { occurred_at: timestamp(systemClock.now() + 1) }
  const change = eventOf('cart.updated', { ...data, amount_minor: 4000 }, later)
  const changed = JSON.stringify(change)
  const path = '/v1/webhooks/events'
  await service.call({ method: 'POST', path, headers: signed(changed), body: changed })
  await measureWork('handle a change of a cart with two codes', () =>
    handleEvent(change.event_id, eventContext(service.runtime, open())),
  )
}
