import { createHash } from 'node:crypto'
import { type Item, type Key, keyOf } from '../platform/table/keys.ts'
import { create, replace, type Table, type Write } from '../platform/table/table.ts'
import type { Cart, CartLine } from './cart.ts'

/** The read limit for the lines of a cart. */
const maxLines = 100

export async function findCart(table: Table, tenant: string, cartId: string): Promise<Cart | undefined> {
  return (await table.get(cartKey(tenant, cartId))) as Cart | undefined
}

/** Replaces a cart if it has not changed since it was read. */
export function changedCart(before: Cart | undefined, after: Cart): Write {
  const item: Item = { ...cartKey(after.tenant_id, after.cart_id), ...after }
  return before
    ? replace(item, { version: before.version }, 'TRANSIENT.error')
    : create(item, 'TRANSIENT.error')
}

/** Returns the lines of a cart, gift cards first. */
export async function cartLinesOf(table: Table, tenant: string, cartId: string): Promise<CartLine[]> {
  const prefix = cartPrefix(cartId)
  const range = { low: prefix, high: `${prefix}~`, descending: false, limit: maxLines }
  const { pk: partition } = cartLineKey(tenant, cartId)
  const { items } = await table.readRange({ ...range, partition })
  return items as unknown as CartLine[]
}

export function lineItem(tenant: string, line: CartLine): Item {
  const { cart_id, kind, name } = line
  const sk = `${cartPrefix(cart_id)}${kind}#${hashOf(name)}`
  return { ...cartLineKey(tenant, cart_id), sk, ...line }
}

/** Returns the partition of the lines of a cart, and the beginning of their sort keys. */
function cartLineKey(tenant: string, cartId: string): Key {
  return keyOf(tenant, 'cart_line', hashOf(cartId))
}

function cartKey(tenant: string, cartId: string): Key {
  return keyOf(tenant, 'cart', hashOf(cartId))
}

function cartPrefix(cartId: string): string {
  return `${hashOf(cartId)}#`
}

/** Hashes a sender's name, which may have any form, to a fixed length without separators. */
function hashOf(name: string): string {
  return createHash('sha256').update(name).digest('base64url')
}
