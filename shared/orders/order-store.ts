import { createHash } from 'node:crypto'
import { fail } from '../platform/base/failure.ts'
import type { Scope } from '../platform/identity/authorize.ts'
import { locate } from '../platform/identity/locate.ts'
import { type Item, keyOf } from '../platform/table/keys.ts'
import type { Table } from '../platform/table/table.ts'
import { create, replace, type Write } from '../platform/table/table.ts'
import type { Settings } from '../settings/register.ts'
import type { Order } from './order.ts'

export function newOrder(order: Order): Write {
  return create({ ...keyOf(order.tenant_id, 'order', order.id), ...order })
}

/** Replaces an order if it has not changed since it was read. */
export function changedOrder(before: Order, after: Order): Write {
  const item = { ...keyOf(after.tenant_id, 'order', after.id), ...after }
  return replace(item, { version: before.version }, 'TRANSIENT.error')
}

/** @throws NOT_FOUND.order, also for an order of another tenant; GONE.order if only a tombstone is left */
export async function readOrder(table: Table, scope: Scope, id: string, settings: Settings): Promise<Order> {
  const item = await locate(table, scope, 'order', id, 'NOT_FOUND.order', settings)
  if (item.erased_at === undefined) return asOrder(item)
  throw fail(settings['orders.gone'] === 'tombstone' ? 'GONE.order' : 'NOT_FOUND.order')
}

/** Casts an item of the orders' partitions. */
export function asOrder(item: Item): Order {
  return item as unknown as Order
}

export function orderEtag({ id, version }: Order): string {
  return `"${createHash('sha256').update(`${id}.${version}`).digest('base64url').slice(0, 27)}"`
}
