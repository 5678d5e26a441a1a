import { findCart } from '#shared/carts/cart-store.ts'
import { timestamp } from '#shared/platform/base/clock.ts'
import type { Outbox, PublishedEvent } from '#shared/platform/events/outbox.ts'
import type { Table } from '#shared/platform/table/table.ts'
import { handleEvent } from '#shared/webhooks/handle-event.ts'
import { latestEventsOf } from '#test/support/item-events.ts'
import { eventContext } from '#test/support/received-events.ts'
import type { Answer, Service } from '#test/support/service.ts'
import type { Identity } from '#test/support/settings.ts'
import { eventOf, signed } from '#test/support/signed-events.ts'

export interface DiscountCalls {
  makeCode(tenant: string, code: string, type: string): Promise<Answer>
  /** Each verification without a subject uses a new one, because a subject may verify only a few codes a minute. */
  verify(tenant: string, code: string, headers?: Record<string, string>, as?: Identity): Promise<Answer>
  /** Sends an event and runs its handler. */
  sendEvent(type: string, data: Record<string, unknown> & { id: string }, more?: object): Promise<void>
  /** Sends the event of a cart in euros. */
  cart(tenant: string, id: string, amountMinor: number, more?: object): Promise<void>
  /** Returns the events that a tenant's commits published so far, in one version, in the order of the commits. */
  eventsOf(tenant: string, version?: number): PublishedEvent[]
  /** Returns the discounts of a cart, each as its code and amount. */
  linesOf(tenant: string, cartId: string): Promise<string[]>
}

export function discountCalls(service: Service): DiscountCalls {
  let keys = 0
  /** Events of one millisecond would be ordered by their ids. */
  let lastAt = 0
  /** By the id of the commit. */
  const published = new Map<string, PublishedEvent[]>()
  const openTable = service.runtime.openTable
  service.runtime.openTable = (...opening) => publishing(openTable(...opening), published)
  const table = publishing(service.table, published)
  const post = (path: string, as: Identity, body: unknown, headers: Record<string, string>) =>
    service.call({
      method: 'POST',
      path,
      as,
      headers: { 'Idempotency-Key': `key-${keys++}`, ...headers },
      body,
    })
  const sendEvent: DiscountCalls['sendEvent'] = async (type, data, more) => {
    lastAt = Math.max(service.runtime.clock.now(), lastAt + 1)
    const event = eventOf(type, data, { occurred_at: timestamp(lastAt), ...more })
    const body = JSON.stringify(event)
    const headers = signed(body, { at: new Date(service.runtime.clock.now()) })
    await service.call({ method: 'POST', path: '/v1/webhooks/events', headers, body })
    await handleEvent(event.event_id, eventContext(service.runtime, table))
  }
  return {
    makeCode(tenant, code, type) {
      const body = { code, type, name: code, expiry_at: '2099-01-01T00:00:00Z' }
      return post('/codes', { tenant, role: 'Admin', scope: 'codes:read codes:write' }, body, {})
    },
    verify: (tenant, code, headers = {}, as = {}) =>
      post('/discount/verify', { tenant, role: 'Viewer', sub: `user-${keys++}`, ...as }, { code }, headers),
    sendEvent: sendEvent,
    cart: (tenant_id, id, amount_minor, more) =>
      sendEvent('cart.updated', { id, tenant_id, amount_minor, currency: 'EUR', ...more }),
    eventsOf: (tenant, version = 1) =>
      [...published.values()]
        .flat()
        .filter((event) => event.data.tenant_id === tenant && event.version === version),
    async linesOf(tenant, cartId) {
      const { discounts = [] } = (await findCart(service.table, tenant, cartId)) ?? {}
      return discounts.map(({ code, amount_minor }) => `${code} ${amount_minor}`)
    },
  }
}

/**
 * Returns the discounts that a consumer knows from events of one cart in any order, each as its code and amount. It
 * keeps the highest version of each code.
 */
export function publishedLines(events: readonly PublishedEvent[]): Set<string> {
  const latest = new Map<unknown, PublishedEvent['data']>()
  for (const { type, data } of events) {
    const known = latest.get(data.code)
    const isNewer = known === undefined || Number(data.version) > Number(known.version)
    if (type === 'promo.applied' && isNewer) latest.set(data.code, data)
  }
  return new Set([...latest.values()].map(({ code, amount }) => `${code} ${amount}`))
}

/** Returns a table that notes the events of each commit, as the stream does: an item keeps only those of its last one. */
function publishing(table: Table, published: Map<string, PublishedEvent[]>): Table {
  return {
    ...table,
    async transact(changes) {
      const refusal = await table.transact(changes)
      for (const change of refusal ? [] : changes) {
        if (!('item' in change)) continue
        const outbox = change.item.outbox as Outbox | undefined
        if (!outbox) continue
        const commit = [change.item.pk, change.item.sk, outbox.id].join('|')
        if (!published.has(commit)) published.set(commit, latestEventsOf(change.item))
      }
      return refusal
    },
  }
}
