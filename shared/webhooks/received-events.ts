import { asOrder, changedOrder, orderPaid as paidEvents } from '../orders/order.ts'
import { timestamp } from '../platform/base/clock.ts'
import { fail, ReportableError } from '../platform/base/failure.ts'
import { defineEvent, type EventDefinition } from '../platform/events/event-definition.ts'
import { ownerOf } from '../platform/table/keys.ts'
import { asRefund } from '../refunds/refund-store.ts'
import { settleRefund } from '../refunds/settle-refund.ts'
import { announcedStatuses, type OrderMove } from '../settings/order-moves.ts'
import {
  CartUpdated,
  cartUpdated,
  GiftcardApplied,
  giftcardApplied,
  TaxRecalculated,
  taxRecalculated,
} from './cart-events.ts'
import { type Handler, resourceOnly } from './handler.ts'

export const OrderPaidReport = defineEvent({
  type: 'order.paid',
  version: 1,
  summary: 'An order was paid; data.id is the order.',
  data: resourceOnly,
})

/**
 * Returns the handler that moves an order to the status that an event announces, from the statuses that the deployment
 * names. In another status, or after its erasure, the event is ignored.
 * @param eventsOf returns what is published about the moved order
 * @throws NOT_FOUND.order for an order that is unknown, because it may still arrive, or of another tenant
 */
function orderMoved(type: OrderMove, eventsOf: typeof paidEvents): Handler {
  const status = announcedStatuses[type]
  return async ({ data }, { table, settings, now, requireNotBlocked }) => {
    const key = await table.findById('order', data.id)
    const item = key && (await table.get(key))
    if (!item) throw fail('NOT_FOUND.order')
    // What is left of an erased order has only its key.
    const { tenant } = ownerOf(key.pk)
    if (tenant !== (data.tenant_id ?? tenant)) throw fail('NOT_FOUND.order')
    if (item.erased_at !== undefined) return 'ignored'
    await requireNotBlocked(tenant)
    const order = asOrder(item)
    if (order.status === status) return 'stale'
    const { all, transitions } = settings['orders.statuses']
    if (!all.includes(order.status)) throw new ReportableError('an order has the status of another release')
    if (!transitions[type].from.includes(order.status)) return 'ignored'
    const after = { ...order, status, updated_at: timestamp(now), version: order.version + 1 }
    return { writes: [changedOrder(order, after)], events: eventsOf(after, settings) }
  }
}

const RefundSucceededReport = defineEvent({
  type: 'refund.succeeded',
  version: 1,
  summary: 'The payment provider completed a refund; data.id is the refund.',
  data: resourceOnly,
})

const RefundFailed = defineEvent({
  type: 'refund.failed',
  version: 1,
  summary:
    'The payment provider could not complete a refund, or took back its payout; data.id is the refund. On a refund that succeeded, an event of a later time is a reversal.',
  data: resourceOnly,
})

/**
 * Returns the handler of a provider's report about a refund.
 * @throws NOT_FOUND.refund for a refund that is unknown, because it may still arrive, or of another tenant
 */
function refundReport(status: 'succeeded' | 'failed'): Handler {
  return async ({ data, occurred_at: at }, context) => {
    const key = await context.table.findById('refund', data.id)
    const item = key && (await context.table.get(key))
    if (!item) throw fail('NOT_FOUND.refund')
    const refund = asRefund(item)
    if (refund.tenant_id !== (data.tenant_id ?? refund.tenant_id)) throw fail('NOT_FOUND.refund')
    await context.requireNotBlocked(refund.tenant_id)
    const { next, effects } = await settleRefund(refund, { status, at }, context)
    if (next === 'contradiction') throw new ReportableError('a refund succeeded after its reversal')
    return next === 'unchanged' ? 'stale' : effects
  }
}

/** A handled event, in one of its versions. */
export interface ReceivedEvent {
  definition: EventDefinition
  handler: Handler
}

/** The handled events that move an order, one for each of shared/settings/order-moves.ts. */
const orderEvents: Record<OrderMove, ReceivedEvent> = {
  'order.paid': { definition: OrderPaidReport, handler: orderMoved('order.paid', paidEvents) },
}

/** The handled events and their handlers. A new event is one line. */
export const receivedEvents: readonly ReceivedEvent[] = [
  ...Object.values(orderEvents),
  { definition: RefundSucceededReport, handler: refundReport('succeeded') },
  { definition: RefundFailed, handler: refundReport('failed') },
  { definition: CartUpdated, handler: cartUpdated },
  { definition: GiftcardApplied, handler: giftcardApplied },
  { definition: TaxRecalculated, handler: taxRecalculated },
]
