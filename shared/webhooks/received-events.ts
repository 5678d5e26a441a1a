import { asOrder, changedOrder, orderPaid as paidEvents } from '../orders/order.ts'
import { timestamp } from '../platform/base/clock.ts'
import { fail, ReportableError } from '../platform/base/failure.ts'
import { defineEvent, type EventDefinition } from '../platform/events/event-definition.ts'
import { ownerOf } from '../platform/table/keys.ts'
import { asRefund } from '../refunds/refund-store.ts'
import { settleRefund } from '../refunds/settle-refund.ts'
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

/**
 * Moves an order by the transitions of the deployment. In a status without one, or after its erasure, the event is
 * ignored.
 * @throws NOT_FOUND.order for an order that is unknown, because it may still arrive, or of another tenant
 */
const orderPaid: Handler = async ({ type, data }, { table, settings, now, requireNotBlocked }) => {
  const key = await table.findById('order', data.id)
  const item = key && (await table.get(key))
  if (!item) throw fail('NOT_FOUND.order')
  // What is left of an erased order has only its key.
  const { tenant } = ownerOf(key.pk)
  if (tenant !== (data.tenant_id ?? tenant)) throw fail('NOT_FOUND.order')
  if (item.erased_at !== undefined) return 'ignored'
  await requireNotBlocked(tenant)
  const order = asOrder(item)
  const moves = settings['orders.statuses'].transitions.filter(({ event }) => event === type)
  const move = moves.find(({ from }) => from === order.status)
  if (!move) return moves.some(({ to }) => to === order.status) ? 'stale' : 'ignored'
  const after = { ...order, status: move.to, updated_at: timestamp(now), version: order.version + 1 }
  return { writes: [changedOrder(order, after)], events: paidEvents(after, settings) }
}

const RefundSucceeded = defineEvent({
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

/** The handled events and their handlers. A new event is one line. */
export const receivedEvents: readonly ReceivedEvent[] = [
  { definition: OrderPaid, handler: orderPaid },
  { definition: RefundSucceeded, handler: refundReport('succeeded') },
  { definition: RefundFailed, handler: refundReport('failed') },
  { definition: CartUpdated, handler: cartUpdated },
  { definition: GiftcardApplied, handler: giftcardApplied },
  { definition: TaxRecalculated, handler: taxRecalculated },
]
