import { asOrder, changedOrder, orderPaid as told } from '../orders/order.ts'
import { timestamp } from '../platform/base/clock.ts'
import { fail } from '../platform/base/failure.ts'
import { defineEvent } from '../platform/events/event-definition.ts'
import { resourceOnly, type Handler } from './handler.ts'

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
  return { writes: [changedOrder(order, after)], events: told(after) }
}
