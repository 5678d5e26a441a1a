import { routes } from '#functions/routes.ts'
import { sendCode } from '#shared/otp/send-code.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import { type PublishedEvent, publishedEvents } from '#shared/platform/events/outbox.ts'
import { itemsOf } from '../support/dynamodb-client.ts'
import { exampleOf } from '../support/examples.ts'
import { receiveEvent } from '../support/received-events.ts'
import { type Service, startService } from '../support/service.ts'
import { longTimeoutSettings } from '../support/settings.ts'
import { eventOf } from '../support/signed-events.ts'

/** An event from another service. */
export interface SampleEvent {
  type: string
  data: { id: string } & Record<string, unknown>
}

const tenant_id = 'publisher'

/** One event of each handled type. Each order and the refund must be created first. */
export const sampleEvents: readonly SampleEvent[] = [
  { type: 'cart.updated', data: { id: 'cart-1', tenant_id, amount_minor: 2000, currency: 'EUR' } },
  { type: 'giftcard.applied', data: { id: 'cart-1', tenant_id, giftcard_id: 'gift-1', amount: 100 } },
  { type: 'tax.recalculated', data: { id: 'cart-1', tenant_id } },
  { type: 'order.paid', data: { id: 'an-order', tenant_id } },
  { type: 'refund.succeeded', data: { id: 'a-refund', tenant_id } },
  { type: 'refund.failed', data: { id: 'a-refund', tenant_id } },
]

/** Calls every route, handles every received event, and returns all events to publish. */
export async function publishEverything(): Promise<PublishedEvent[]> {
  const service = await startService({ settings: longTimeoutSettings })
  const as = { tenant: tenant_id, role: 'Admin', sub: 'publisher', scope: 'codes:read codes:write' }
  for (const { route } of routes) {
    const { path, headers, body } = await exampleOf(route, service, tenant_id)
    const key = { 'Idempotency-Key': crypto.randomUUID() }
    await service.call({ method: route.method, path, as, headers: { ...key, ...headers }, body })
  }
  const post = async (path: string, body: unknown, headers = {}) => {
    const key = { 'Idempotency-Key': crypto.randomUUID() }
    return (await service.call({ method: 'POST', path, as, headers: { ...key, ...headers }, body })).json
  }
  const refund = await post('/v1/refunds', { charge_id: 'ch_pending_1', amount: 5 })
  for (const { type, data } of sampleEvents) {
    // An event moves its order to another status, in which the next one may have no effect.
    const order = await post('/v1/orders', { cart_id: 'cart-1', amount_minor: 5, currency: 'EUR' })
    const made: Record<string, string> = { 'an-order': order.id, 'a-refund': refund.id }
    await receiveEvent(service, eventOf(type, { ...data, id: made[data.id] ?? data.id }))
  }
  const expiry_at = '2099-01-01T00:00:00Z'
  await post('/codes', { code: 'KNOWN', type: 'percent-25', name: 'Known', expiry_at })
  for (const code of ['KNOWN', 'UNKNOWN']) await post('/discount/verify', { code }, { 'X-Cart-Id': 'cart-1' })
  await post('/login', { email: 'nobody@example.com', password: 'wrong' })
  await deliverMail(service)
  return (await itemsOf(service.tableName)).flatMap((item) => publishedEvents(item))
}

async function deliverMail(service: Service): Promise<void> {
  const { runtime, table, settings } = service
  const sending = { table, clock: systemClock, settings, derivedKey: runtime.derivedKey }
  for (const { task } of await itemsOf(service.tableName)) {
    const { queue, body = '' } = (task ?? {}) as { queue?: string; body?: string }
    if (queue === 'mail') await sendCode(body, sending, async () => {})
  }
}
