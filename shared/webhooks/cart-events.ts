import * as v from 'valibot'
import type { Cart } from '../carts/cart.ts'
import { changedCart, findCart, lineItem } from '../carts/cart-store.ts'
import { defineEvent } from '../platform/events/event-definition.ts'
import { openPoint } from '../platform/settings/open-point.ts'
import type { Key } from '../platform/table/keys.ts'
import { create, replace } from '../platform/table/writes.ts'
import type { Settings } from '../settings/register.ts'
import { type Handler, received } from './handler.ts'
import type { WebhookEvent } from './webhook-event.ts'

const amount = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
const CartState = v.object({ amount_minor: amount, currency: v.pipe(v.string(), v.regex(/^[A-Z]{3}$/)) })
const GiftCard = v.object({ giftcard_id: v.pipe(v.string(), v.minLength(1)), amount })

/** The cart is data.cart_id where that is given, else data.id. */
const aboutCart = { ...received, cart_id: v.exactOptional(v.string()) }

export const CartUpdated = defineEvent({
  type: 'cart.updated',
  version: 1,
  summary: 'A cart changed: its amount and currency as they are now.',
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
  const known = await findCart(table, tenant, cartId)
  if (known && known.occurred_at >= event.occurred_at) return {}
  const { amount: amountPath, currency: currencyPath } = settings['discount.cartFields']
  const state = v.parse(CartState, {
    amount_minor: valueAt(event, amountPath),
    currency: valueAt(event, currencyPath),
  })
  const after: Cart = {
    ...known,
    cart_id: cartId,
    tenant_id: tenant,
    ...state,
    occurred_at: event.occurred_at,
    version: (known?.version ?? 0) + 1,
  }
  return { writes: [changedCart(known, after)] }
}

/** One line for a gift card on a cart, however often and in whatever events it is told. */
export const giftcardApplied: Handler = async (event, { table, tenant }) => {
  const { giftcard_id, amount: amount_minor } = v.parse(GiftCard, event.data)
  const { occurred_at } = event
  const line = lineItem(tenant, {
    cart_id: cartIdOf(event),
    kind: 'giftcard',
    name: giftcard_id,
    amount_minor,
    occurred_at,
  })
  if (await table.get(keyIn(line))) return {}
  return { writes: [create(line, 'TRANSIENT.error')] }
}

/** When the tax of a cart was last calculated: a line of its own, as it may be told before the cart is. */
export const taxRecalculated: Handler = async (event, { table, tenant }) => {
  const { occurred_at } = event
  const line = lineItem(tenant, {
    cart_id: cartIdOf(event),
    kind: 'tax',
    name: 'tax',
    amount_minor: 0,
    occurred_at,
  })
  const known = await table.get(keyIn(line))
  if (!known) return { writes: [create(line, 'TRANSIENT.error')] }
  const before = String(known.occurred_at)
  return before >= occurred_at ? {} : { writes: [replace(line, { occurred_at: before }, 'TRANSIENT.error')] }
}

function keyIn({ pk, sk }: Key): Key {
  return { pk, sk }
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

/** The data of cart.updated: amount and currency stand where the settings say. */
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
  return inData.reduceRight((inner, name): v.GenericSchema => v.looseObject({ [name]: inner }), schema)
}
