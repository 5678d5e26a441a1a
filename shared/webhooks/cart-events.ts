import * as v from 'valibot'
import type { Cart } from '../carts/cart.ts'
import { changedCart, findCart, lineItem } from '../carts/cart-store.ts'
import { defineEvent } from '../platform/events/event-definition.ts'
import type { Effects } from '../platform/http/reply.ts'
import { openPoint } from '../platform/settings/open-point.ts'
import type { Item } from '../platform/table/keys.ts'
import type { Table } from '../platform/table/table.ts'
import { create, replace } from '../platform/table/writes.ts'
import type { Settings } from '../settings/register.ts'
import { type Handler, received } from './handler.ts'
import type { WebhookEvent } from './webhook-event.ts'

const amount = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
const CartState = v.object({ amount_minor: amount, currency: v.pipe(v.string(), v.regex(/^[A-Z]{3}$/)) })
const GiftCard = v.object({ giftcard_id: v.pipe(v.string(), v.minLength(1)), amount })

/** The cart is data.cart_id where that is given, else data.id. */
const aboutCart = {
  ...received,
  cart_id: v.exactOptional(v.string()),
  correlation_id: v.exactOptional(v.string()),
}

export const CartUpdated = defineEvent({
  type: 'cart.updated',
  version: 1,
  summary: 'A cart changed. Its amount and currency as they are now; without both, the known ones are kept.',
  data: (settings) => v.pipe(cartData(settings), openPoint('discount.cartFields')),
})

export const GiftcardApplied = defineEvent({
  type: 'giftcard.applied',
  version: 1,
  summary: 'A gift card was put on a cart. Told twice, it is one line.',
  data: () => v.looseObject({ ...aboutCart, ...GiftCard.entries }),
})

export const TaxRecalculated = defineEvent({
  type: 'tax.recalculated',
  version: 1,
  summary: 'The tax of a cart was calculated anew.',
  data: () => v.looseObject(aboutCart),
})

/** The cart as it was at occurred_at, unless something later is known of it. */
export const cartUpdated: Handler = async (event, { table, settings, tenant }) => {
  const cartId = cartIdOf(event)
  const { amount: amountPath, currency: currencyPath } = settings['discount.cartFields']
  const [amount_minor, currency] = [valueAt(event, amountPath), valueAt(event, currencyPath)]
  // An event that only says that the cart changed leaves the known amount as it is.
  if (amount_minor === undefined && currency === undefined) return {}
  const state = v.parse(CartState, { amount_minor, currency })
  const known = await findCart(table, tenant, cartId)
  if (known && !isBefore(known, event)) return {}
  const after: Cart = {
    ...known,
    cart_id: cartId,
    tenant_id: tenant,
    ...state,
    ...momentOf(event),
    version: (known?.version ?? 0) + 1,
  }
  return { writes: [changedCart(known, after)] }
}

/** One line for a gift card on a cart, however often it is told: the first event of it counts, whenever it comes. */
export const giftcardApplied: Handler = async (event, { table, tenant }) => {
  const { giftcard_id, amount: amount_minor } = v.parse(GiftCard, event.data)
  const cart_id = cartIdOf(event)
  const line = { cart_id, kind: 'giftcard' as const, name: giftcard_id, amount_minor, ...momentOf(event) }
  return toldLine(lineItem(tenant, line), table, (known) => isBefore(event, known))
}

/** When the tax of a cart was last calculated: a line of its own, as it may be told before the cart is. */
export const taxRecalculated: Handler = async (event, { table, tenant }) => {
  const cart_id = cartIdOf(event)
  const line = { cart_id, kind: 'tax' as const, name: 'tax', amount_minor: 0, ...momentOf(event) }
  return toldLine(lineItem(tenant, line), table, (known) => isBefore(known, event))
}

/** A line as an event tells it, new or in the place of what an event told before. */
async function toldLine(line: Item, table: Table, supersedes: (known: Moment) => boolean): Promise<Effects> {
  const item = await table.get({ pk: line.pk, sk: line.sk })
  if (!item) return { writes: [create(line, 'TRANSIENT.error')] }
  const known = { occurred_at: String(item.occurred_at), event_id: String(item.event_id) }
  return supersedes(known) ? { writes: [replace(line, known, 'TRANSIENT.error')] } : {}
}

type Moment = Pick<WebhookEvent, 'occurred_at' | 'event_id'>

function momentOf({ occurred_at, event_id }: WebhookEvent): Moment {
  return { occurred_at, event_id }
}

/** Events of the same millisecond are told apart by their ids, so that their order of delivery decides nothing. */
function isBefore(one: Moment, other: Moment): boolean {
  if (one.occurred_at !== other.occurred_at) return one.occurred_at < other.occurred_at
  return one.event_id < other.event_id
}

function cartIdOf({ data }: WebhookEvent): string {
  return typeof data.cart_id === 'string' && data.cart_id !== '' ? data.cart_id : data.id
}

/** The value at a path of the settings: `data.amount_minor`. */
function valueAt(event: WebhookEvent, path: Settings['discount.cartFields']['amount']): unknown {
  return path.split('.').reduce<unknown>((value, name) => {
    const inside = typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    return inside ? (value as Record<string, unknown>)[name] : undefined
  }, event)
}

/** The data of cart.updated. Amount and currency are optional, at the paths that the settings name. */
function cartData(settings: Settings) {
  const { amount: amountPath, currency: currencyPath } = settings['discount.cartFields']
  const { amount_minor, currency } = CartState.entries
  return v.intersect([
    v.looseObject(aboutCart),
    schemaAt(amountPath, amount_minor),
    schemaAt(currencyPath, currency),
  ])
}

function schemaAt(path: string, schema: v.GenericSchema): v.GenericSchema {
  const inData = path.split('.').slice(1)
  return inData.reduceRight(
    (inner, name): v.GenericSchema => v.looseObject({ [name]: v.exactOptional(inner) }),
    schema,
  )
}
