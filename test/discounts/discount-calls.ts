import { systemClock } from '#shared/platform/base/clock.ts'
import { type PublishedEvent, publishedEvents } from '#shared/platform/events/outbox.ts'
import { handleEvent } from '#shared/webhooks/handle-event.ts'
import type { Answer, Service } from '#test/support/service.ts'
import type { Identity } from '#test/support/settings.ts'
import { eventOf, signed } from '#test/support/signed-events.ts'

export interface DiscountCalls {
  makeCode(tenant: string, code: string, type: string): Promise<Answer>
  /** Each verification without a subject uses a new one, because a subject may verify only a few codes a minute. */
  verify(tenant: string, code: string, headers?: Record<string, string>, as?: Identity): Promise<Answer>
  /** Sends an event and runs its handler. */
  tell(type: string, data: Record<string, unknown> & { id: string }, more?: object): Promise<void>
  /** Sends the event of a cart in euros. */
  cart(tenant: string, id: string, amountMinor: number, more?: object): Promise<void>
  /** Returns the published events of all verifications of a tenant. */
  eventsOf(tenant: string): Promise<PublishedEvent[]>
}

export function discountCalls(service: Service): DiscountCalls {
  let keys = 0
  const post = (path: string, as: Identity, body: unknown, headers: Record<string, string>) =>
    service.call({
      method: 'POST',
      path,
      as,
      headers: { 'Idempotency-Key': `key-${keys++}`, ...headers },
      body,
    })
  const tell: DiscountCalls['tell'] = async (type, data, more) => {
    const event = eventOf(type, data, more)
    const body = JSON.stringify(event)
    await service.call({ method: 'POST', path: '/v1/webhooks/events', headers: signed(body), body })
    await handleEvent(event.event_id, {
      table: service.table,
      clock: systemClock,
      settings: service.settings,
    })
  }
  return {
    makeCode(tenant, code, type) {
      const body = { code, type, name: code, expiry_at: '2099-01-01T00:00:00Z' }
      return post('/codes', { tenant, role: 'Admin', scope: 'codes:read codes:write' }, body, {})
    },
    verify: (tenant, code, headers = {}, as = {}) =>
      post('/discount/verify', { tenant, role: 'Viewer', sub: `user-${keys++}`, ...as }, { code }, headers),
    tell,
    cart: (tenant_id, id, amount_minor, more) =>
      tell('cart.updated', { id, tenant_id, amount_minor, currency: 'EUR', ...more }),
    eventsOf: async (tenant) => (await service.items(tenant, 'verification')).flatMap(publishedEvents),
  }
}
