import type { OutgoingEvent } from '../platform/events/outbox.ts'
import type { Order } from './order.ts'

/** What the world is told of a placed order (contract, 'Events named'). */
export function orderPlaced({ id, tenant_id, amount_minor, currency }: Order): OutgoingEvent[] {
  return [
    { type: 'order.created', version: 1, data: { id, tenant_id } },
    { type: 'order.placed', version: 1, data: { id, tenant_id, order_id: id, amount_minor, currency } },
  ]
}

/** What the world is told of an order that was paid. */
export function orderPaid({ id, tenant_id }: Order): OutgoingEvent[] {
  return [{ type: 'order.paid', version: 1, data: { id, tenant_id } }]
}
