import * as v from 'valibot'
import { defineEvent, event, minorUnits, subject, subjectOnly } from '../platform/events/event-definition.ts'
import type { OutgoingEvent } from '../platform/events/outbox.ts'
import type { Order } from './order.ts'

export const OrderCreated = defineEvent({
  type: 'order.created',
  version: 1,
  summary: 'An order is there. It is told within a second.',
  data: subjectOnly,
})

export const OrderPlaced = defineEvent({
  type: 'order.placed',
  version: 1,
  summary: 'A customer placed an order.',
  data: () =>
    v.strictObject({ ...subject, order_id: v.string(), amount_minor: minorUnits, currency: v.string() }),
})

export const OrderPaid = defineEvent({
  type: 'order.paid',
  version: 1,
  summary: 'An order was paid.',
  data: subjectOnly,
})

/** Returns the events of a placed order. */
export function orderPlaced({ id, tenant_id, amount_minor, currency }: Order): OutgoingEvent[] {
  return [
    event(OrderCreated, { id, tenant_id }),
    event(OrderPlaced, { id, tenant_id, order_id: id, amount_minor, currency }),
  ]
}

/** Returns the event of a paid order. */
export function orderPaid({ id, tenant_id }: Order): OutgoingEvent[] {
  return [event(OrderPaid, { id, tenant_id })]
}
