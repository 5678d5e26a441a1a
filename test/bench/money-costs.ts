import { startBudget, systemClock } from '#shared/platform/base/clock.ts'
import { handleEvent } from '#shared/webhooks/handle-event.ts'
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
    handleEvent(event.event_id, { table, clock: systemClock, settings: service.settings })
  const open = () => service.runtime.openTable(startBudget(systemClock, 10_000))
  await measureWork('handle it', () => handle(open()))
  await measureWork('handle it again', () => handle(open()))

  await service.call(post('/codes', 'ten', { code: 'TEN', type: 'percent-10', name: 'Ten', expiry_at }))
  const onCart = { 'X-Cart-Id': 'cart-1' }
  const verify = post('/discount/verify', 'verify', { code: 'TEN' }, onCart)
  await measure('verify a discount on a cart', verify)
  await measure('replay a verification', verify)
  await measure('verify an unknown code', post('/discount/verify', 'guess', { code: 'NONE' }, onCart))
}
