import { asOrder, changedOrder, orderPaid as paidEvents } from '../orders/order.ts'
import { timestamp } from '../platform/base/clock.ts'
import { fail } from '../platform/base/failure.ts'
import { defineEvent, type EventDefinition } from '../platform/events/event-definition.ts'
import { settle } from '../refunds/refund.ts'
import { paidRefund } from '../refunds/refund-saga.ts'
import { asRefund } from '../refunds/refund-store.ts'
import {
  CartUpdated,
  cartUpdated,
  GiftcardApplied,
  giftcardApplied,
  TaxRecalculated,
  taxRecalculated,
} from './cart-events.ts'
import { type Handler, resourceOnly } from './handler.ts'

export const OrderPaid = defineEvent({
  type: 'order.paid',
  version: 1,
  summary: 'An order was paid; data.id is the order.',
  data: resourceOnly,
})

/** Moves an order by the transitions of the deployment. An unknown order throws, because it may still arrive. */
export const orderPaid: Handler = async ({ type, data }, { table, settings, now }) => {
  const key = await table.findById('order', data.id)
  const item = key && (await table.get(key))
  if (!item) throw fail('NOT_FOUND.order')
  const order = asOrder(item)
  const { transitions } = settings['orders.statuses']
  const move = transitions.find(({ from, event }) => event === type && from === order.status)
  if (!move || order.tenant_id !== (data.tenant_id ?? order.tenant_id)) return {}
  const after = { ...order, status: move.to, updated_at: timestamp(now), version: order.version + 1 }
  return { writes: [changedOrder(order, after)], events: paidEvents(after) }
}

export const RefundSucceeded = defineEvent({
  type: 'refund.succeeded',
  version: 1,
  summary: 'The payment provider completed a refund; data.id is the refund.',
  data: resourceOnly,
})

/** Settles a refund that the provider had accepted. A settled refund stays unchanged, with its one ledger entry. */
export const refundSucceeded: Handler = async ({ data }, { table, now }) => {
  const key = await table.findById('refund', data.id)
  const item = key && (await table.get(key))
  if (!item) throw fail('NOT_FOUND.refund')
  const refund = asRefund(item)
  if (refund.status !== 'pending' || refund.tenant_id !== (data.tenant_id ?? refund.tenant_id)) return {}
  return paidRefund(refund, settle(refund, { status: 'succeeded' }, now))
}

/** A handled event, in one of its versions. */
export interface ReceivedEvent {
  definition: EventDefinition
  handler: Handler
}

/** The handled events and their handlers. A new event is one line. */
export const receivedEvents: readonly ReceivedEvent[] = [
  { definition: OrderPaid, handler: orderPaid },
  { definition: RefundSucceeded, handler: refundSucceeded },
  { definition: CartUpdated, handler: cartUpdated },
  { definition: GiftcardApplied, handler: giftcardApplied },
  { definition: TaxRecalculated, handler: taxRecalculated },
]
