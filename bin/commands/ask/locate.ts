import { findCart } from '#shared/carts/cart-store.ts'
import { codeTextOf } from '#shared/codes/code-text.ts'
import { cartName, orderOfEntry } from '#shared/orders/order.ts'
import { findMail } from '#shared/otp/code-mail.ts'
import { isId } from '#shared/platform/base/clock.ts'
import { type Entity, type Item, keyOf, ownerOf } from '#shared/platform/table/keys.ts'
import type { Table } from '#shared/platform/table/table.ts'
import { inboxKey } from '#shared/webhooks/inbox.ts'

/** Something that a text names. */
export interface Found {
  /** Such as `order`, `charge` or `correlation id`. */
  kind: string
  id: string
  tenant: string | undefined
}

/** An item that a text names. */
export interface FoundItem extends Found {
  tenant: string
  item: Item
}

/** The entities that the index by id finds in any tenant. */
const indexed = ['order', 'refund', 'code', 'operation', 'subscriber'] as const satisfies Entity[]
/** Those that only their tenant finds. */
const ofTenant = ['api_key', 'delivery'] as const satisfies Entity[]
/** All that an id finds. The policy of the console permits to read them. */
export const findable = [...indexed, ...ofTenant] as const

/** Returns the items whose id a text is. Those of `ofTenant` are found with their tenant only. */
export async function itemsById(table: Table, id: string, tenant: string | undefined): Promise<FoundItem[]> {
  const [mail, ...received] = await Promise.all([
    findMail(table, id),
    table.get(inboxKey(id)),
    table.get(inboxKey(id, 'stripe')),
  ])
  const others: FoundItem[] = [
    ...(mail ? [foundMail(mail)] : []),
    ...received.flatMap((item) =>
      item ? [{ kind: 'received event', id, tenant: groupOf(item), item }] : [],
    ),
  ]
  if (!isId(id)) return others
  const keys = tenant === undefined ? [] : ofTenant.map((entity) => keyOf(tenant, entity, id))
  const found = await Promise.all([
    ...indexed.map(async (entity) => {
      const key = tenant === undefined ? await table.findById(entity, id) : keyOf(tenant, entity, id)
      return key && table.get(key)
    }),
    ...keys.map((key) => table.get(key)),
  ])
  return [...others, ...found.flatMap((item) => (item ? [foundItem(item)] : []))]
}

/** Returns the mails of messages that are still kept. */
export async function mailsById(table: Table, ids: readonly string[]): Promise<FoundItem[]> {
  const mails = await Promise.all(ids.map((id) => findMail(table, id)))
  return mails.flatMap((mail) => (mail ? [foundMail(mail)] : []))
}

function foundMail(mail: NonNullable<Awaited<ReturnType<typeof findMail>>>): FoundItem {
  return { kind: 'mail', id: mail.message_id, tenant: mail.tenant_id, item: mail }
}

/** Returns the tenant of a received event, in whose group it was handled. */
function groupOf({ task }: Item): string {
  return String((task as { group?: string } | undefined)?.group ?? '')
}

export function foundItem(item: Item): FoundItem {
  const { kind, tenant } = ownerOf(item.pk)
  return { kind: kind.replace('_', ' '), id: item.sk, tenant, item }
}

/** The most items of one name, the latest ones. */
const mostOfName = 50

/** Returns the cart, the orders of a cart and the codes whose name or text a text is, in a tenant. */
export async function itemsByName(table: Table, name: string, tenant: string): Promise<FoundItem[]> {
  const text = codeTextOf(name)
  const [cart, orders, codes] = await Promise.all([
    findCart(table, tenant, name),
    ordersOfCart(table, tenant, name),
    text === undefined ? [] : codesByText(table, tenant, text),
  ])
  return [
    ...(cart ? [{ kind: 'cart', id: name, tenant, item: cart as unknown as Item }] : []),
    ...[...orders, ...codes].map(foundItem),
  ]
}

async function ordersOfCart(table: Table, tenant: string, cart: string): Promise<Item[]> {
  const name = cartName(cart)
  const { pk: partition } = keyOf(tenant, 'order_cart', name)
  const range = { low: `${name}#`, high: `${name}#~`, descending: true, limit: mostOfName }
  const { items } = await table.readRange({ ...range, partition })
  return items.length > 0
    ? table.getMany(items.map((entry) => keyOf(tenant, 'order', orderOfEntry(entry))))
    : []
}

/** Returns the code with a text, and those that had it before their soft delete freed it. */
async function codesByText(table: Table, tenant: string, text: string): Promise<Item[]> {
  const { pk: partition } = keyOf(tenant, 'code_lock', text)
  const [lock, freed] = await Promise.all([
    table.get(keyOf(tenant, 'code_lock', text)),
    table.readRange({ partition, low: `${text}#`, high: `${text}#~`, descending: true, limit: mostOfName }),
  ])
  const ids = [lock, ...freed.items].flatMap((one) => (one ? [String(one.code_id)] : []))
  return ids.length > 0 ? table.getMany(ids.map((id) => keyOf(tenant, 'code', id))) : []
}
