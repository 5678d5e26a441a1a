import { createHash } from 'node:crypto'
import * as v from 'valibot'
import { timeOf, timestamp } from '../platform/base/clock.ts'
import { fail } from '../platform/base/failure.ts'
import { defineResource, type ViewOf } from '../platform/base/resource.ts'
import {
  defineEvent,
  defineResourceEvent,
  event,
  minorUnits,
  resourceEvent,
  subject,
} from '../platform/events/event-definition.ts'
import type { OutgoingEvent } from '../platform/events/outbox.ts'
import { currencyCode, utc, wholeNumber } from '../platform/formats/text.ts'
import { locate } from '../platform/identity/authorize.ts'
import type { RequestContext } from '../platform/request/context.ts'
import { type Item, type Key, keyOf } from '../platform/table/keys.ts'
import { create, put, replace, type Write } from '../platform/table/table.ts'
import { describedAs, openPoint, storedValue } from '../settings/per-settings.ts'
import type { Settings } from '../settings/register.ts'

/** Holds a UUID, a hash or the id of any shop system. */
const cartIdMaxLength = 255

/** An amount of twelve digits: 9,999,999,999.99 EUR. The sum of thousands of orders is still an exact number. */
const maxAmountMinor = 999_999_999_999

/** An order. amount_minor is in minor units of the currency. */
export const Order = defineResource({
  title: 'Order',
  setting: 'orders.fields',
  shows(name, settings) {
    const shown = settings['orders.fields']
    return ['id', 'created_at', 'status'].includes(name) || shown === 'all' || shown.includes(name)
  },
  fields: {
    id: v.string(),
    tenant_id: v.string(),
    cart_id: {
      request: v.pipe(v.string(), v.minLength(1), v.maxLength(cartIdMaxLength), v.regex(/^[\x21-\x7e]+$/)),
      view: v.string(),
    },
    amount_minor: {
      request: wholeNumber(0, maxAmountMinor),
      view: v.pipe(v.number(), v.integer()),
    },
    currency: {
      // A list would be another type than that of responses, so callers could not send back what they read.
      request: (settings: Settings) =>
        v.pipe(
          v.picklist(settings['orders.currencies']),
          describedAs(currencyCode),
          openPoint('orders.currencies'),
        ),
      view: currencyCode,
    },
    status: (settings: Settings) =>
      storedValue(v.pipe(v.picklist(settings['orders.statuses'].all), openPoint('orders.statuses'))),
    created_at: utc,
    updated_at: utc,
  },
})

/** A stored order. */
export interface Order extends ViewOf<typeof Order> {
  /** Incremented by each change; entity tags and conditional writes use it. */
  version: number
}

/** The body of POST /v1/orders. */
type OrderRequest = v.InferOutput<ReturnType<typeof Order.request>>

/** Creates an order in its first status. created_at is the time in its id. */
export function placeOrder(request: OrderRequest, id: string, tenant: string, settings: Settings): Order {
  const at = timestamp(timeOf(id))
  return {
    id,
    tenant_id: tenant,
    ...request,
    status: settings['orders.statuses'].first,
    created_at: at,
    updated_at: at,
    version: 1,
  }
}

/** Returns the writes of a new order, and of the entry by which its cart_id finds it. */
export function orderWrites(order: Order): Write[] {
  const item = { ...keyOf(order.tenant_id, 'order', order.id), ...order }
  return [create(item), put({ ...cartEntryKey(order) })]
}

/** Returns the key of the entry that finds an order by its cart_id. */
export function cartEntryKey({ tenant_id, cart_id, id }: Pick<Order, 'tenant_id' | 'cart_id' | 'id'>): Key {
  return keyOf(tenant_id, 'order_cart', `${cartName(cart_id)}#${id}`)
}

/** Returns the name of a cart in keys. A hash spreads the carts over partitions, whatever their names have in common. */
export function cartName(cart_id: string): string {
  return createHash('sha256').update(cart_id).digest('base64url')
}

/** Returns the id in an entry of a cart. */
export function orderOfEntry({ sk }: Item): string {
  return sk.slice(sk.indexOf('#') + 1)
}

/** Returns the write that replaces an order if it has not changed since it was read. */
export function changedOrder(before: Order, after: Order): Write {
  const item = { ...keyOf(after.tenant_id, 'order', after.id), ...after }
  return replace(item, { version: before.version }, 'TRANSIENT.error')
}

/** @throws NOT_FOUND.order, also for an order of another tenant; GONE.order if only a tombstone is left */
export async function readOrder(
  context: Pick<RequestContext, 'table' | 'scope' | 'settings' | 'isBlocked'>,
  id: string,
): Promise<Order> {
  const { settings } = context
  const item = await locate(context, 'order', id, 'NOT_FOUND.order')
  if (item.erased_at === undefined) return asOrder(item)
  throw fail(settings['orders.gone'] === 'tombstone' ? 'GONE.order' : 'NOT_FOUND.order')
}

/** Casts an item of the orders' partitions. */
export function asOrder(item: Item): Order {
  return item as unknown as Order
}

export const OrderCreated = defineResourceEvent({
  type: 'order.created',
  version: 1,
  summary: 'An order was created. Published within a second.',
  resource: Order,
  carriers: ['order'],
})

export const OrderPlaced = defineEvent({
  type: 'order.placed',
  version: 1,
  summary: 'A customer placed an order.',
  data: () =>
    v.strictObject({ ...subject, order_id: v.string(), amount_minor: minorUnits, currency: currencyCode }),
  carriers: ['order'],
})

export const OrderPaid = defineResourceEvent({
  type: 'order.paid',
  version: 1,
  summary: 'An order was paid.',
  resource: Order,
  carriers: ['order'],
})

/** Returns the events of a placed order. */
export function orderPlaced(order: Order, settings: Settings): OutgoingEvent[] {
  const { id, tenant_id, amount_minor, currency } = order
  return [
    resourceEvent(OrderCreated, order, settings),
    event(OrderPlaced, { id, tenant_id, order_id: id, amount_minor, currency }),
  ]
}

/** Returns the event of a paid order. */
export function orderPaid(order: Order, settings: Settings): OutgoingEvent[] {
  return [resourceEvent(OrderPaid, order, settings)]
}
