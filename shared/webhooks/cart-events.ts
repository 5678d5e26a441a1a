import * as v from 'valibot'
import { type Cart, type EventPosition, isPriced } from '../carts/cart.ts'
import { changedCart, findCart, lineItem } from '../carts/cart-store.ts'
import { discountsOf, usableCodes } from '../discounts/cart-discounts.ts'
import { defineEvent } from '../platform/events/event-definition.ts'
import type { Item } from '../platform/table/keys.ts'
import { create, replace, type Table } from '../platform/table/table.ts'
import { openPoint } from '../settings/per-settings.ts'
import type { Settings } from '../settings/register.ts'
import { eventData, type Handled, type Handler, type HandlerContext } from './handler.ts'
import type { WebhookEvent } from './webhook-event.ts'

const amount = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
const CartAmount = v.object({ amount_minor: amount, currency: v.pipe(v.string(), v.regex(/^[A-Z]{3}$/)) })
const Owner = v.nullish(v.pipe(v.string(), v.minLength(1), v.maxLength(255)))
const GiftCard = v.object({ giftcard_id: v.pipe(v.string(), v.minLength(1)), amount })

/** The cart is data.cart_id if present, else data.id. */
const cartFields = {
  ...eventData,
  cart_id: v.exactOptional(v.string()),
  correlation_id: v.exactOptional(v.string()),
}

export const CartUpdated = defineEvent({
  type: 'cart.updated',
  version: 1,
  summary:
    'A cart changed. If the event does not state the amount with its currency, or the owner, the known value is kept.',
  data: (settings) => v.pipe(cartData(settings), openPoint('discount.cartFields')),
})

export const GiftcardApplied = defineEvent({
  type: 'giftcard.applied',
  version: 1,
  summary: 'A gift card was applied to a cart. Repeated events add one line.',
  data: () => v.looseObject({ ...cartFields, ...GiftCard.entries }),
})

export const TaxRecalculated = defineEvent({
  type: 'tax.recalculated',
  version: 1,
  summary: 'The tax of a cart was recalculated.',
  data: () => v.looseObject(cartFields),
})

/**
 * Amount and owner each follow the latest event that states them, whatever the order of arrival. Discounts follow their
 * rules, and those that change are published.
 */
export const cartUpdated: Handler = async (event, context) => {
  const { table, settings, tenant } = context
  const paths = settings['discount.cartFields']
  const [amount_minor, currency] = [valueAt(event, paths.amount), valueAt(event, paths.currency)]
  const isAmountStated = amount_minor !== undefined || currency !== undefined
  const stated = isAmountStated ? v.parse(CartAmount, { amount_minor, currency }) : undefined
  const subject = v.parse(Owner, valueAt(event, paths.owner))
  if (!stated && !subject) return 'ignored'
  const cart_id = cartIdOf(event)
  const known = await findCart(table, tenant, cart_id)
  const moment = positionOf(event)
  const isNewAmount = stated && !isStale(event, known, context)
  const isNewOwner = subject && !isStale(event, known?.owner, context)
  if (!isNewAmount && !isNewOwner) return 'stale'
  const after: Cart = {
    ...known,
    ...(isNewAmount && { ...stated, ...moment }),
    ...(isNewOwner && { owner: { subject, ...moment } }),
    cart_id,
    tenant_id: tenant,
    version: (known?.version ?? 0) + 1,
  }
  if (!known?.discounts || !isPriced(after)) return { writes: [changedCart(known, after)] }
  const { discounts, events } = discountsOf(after, await usableCodes(after, context), context)
  return { writes: [changedCart(known, { ...after, discounts })], events }
}

/** Keeps one line for each gift card on a cart. Its first event by time counts, whatever the order of arrival. */
export const giftcardApplied: Handler = async (event, { table, tenant }) => {
  const { giftcard_id, amount: amount_minor } = v.parse(GiftCard, event.data)
  const cart_id = cartIdOf(event)
  const line = { cart_id, kind: 'giftcard' as const, name: giftcard_id, amount_minor, ...positionOf(event) }
  return upsertLine(lineItem(tenant, line), table, (known) => isBefore(event, known))
}

/** Stores the time of the last tax calculation as a line, because its event may arrive before the cart's. */
export const taxRecalculated: Handler = async (event, context) => {
  const { table, tenant } = context
  const cart_id = cartIdOf(event)
  const line = { cart_id, kind: 'tax' as const, name: 'tax', amount_minor: 0, ...positionOf(event) }
  return upsertLine(lineItem(tenant, line), table, (known) => !isStale(event, known, context))
}

/** Creates the line of an event, or replaces the line of an event that it supersedes. */
async function upsertLine(
  line: Item,
  table: Table,
  supersedes: (known: EventPosition) => boolean,
): Promise<Handled> {
  const item = await table.get({ pk: line.pk, sk: line.sk })
  if (!item) return { writes: [create(line, 'TRANSIENT.error')] }
  const known = { occurred_at: String(item.occurred_at), event_id: String(item.event_id) }
  return supersedes(known) ? { writes: [replace(line, known, 'TRANSIENT.error')] } : 'stale'
}

function positionOf({ occurred_at, event_id }: WebhookEvent): EventPosition {
  return { occurred_at, event_id }
}

/** Orders events of the same millisecond by id, so that the order of delivery does not matter. */
function isBefore(one: EventPosition, other: EventPosition): boolean {
  if (one.occurred_at !== other.occurred_at) return one.occurred_at < other.occurred_at
  return one.event_id < other.event_id
}

/**
 * Returns whether a later fact is known. A time beyond the tolerance was accepted under a larger one. It does not
 * count, because it would make every event stale.
 */
function isStale(
  event: EventPosition,
  known: Partial<EventPosition> | undefined,
  { now, settings }: HandlerContext,
): boolean {
  const { occurred_at, event_id } = known ?? {}
  if (occurred_at === undefined || event_id === undefined) return false
  const latest = now + settings['webhooks.futureSeconds'] * 1000
  return Date.parse(occurred_at) <= latest && !isBefore({ occurred_at, event_id }, event)
}

function cartIdOf({ data }: WebhookEvent): string {
  return typeof data.cart_id === 'string' && data.cart_id !== '' ? data.cart_id : data.id
}

/** Returns the value at a path from the settings, such as `data.amount_minor`. */
function valueAt(event: WebhookEvent, path: Settings['discount.cartFields']['amount']): unknown {
  return path.split('.').reduce<unknown>((value, name) => {
    const inside = typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    return inside ? (value as Record<string, unknown>)[name] : undefined
  }, event)
}

/** Returns the schema of cart.updated. All fields but the ids are optional, at the paths from the settings. */
function cartData(settings: Settings) {
  const paths = settings['discount.cartFields']
  const { amount_minor, currency } = CartAmount.entries
  return v.intersect([
    v.looseObject(cartFields),
    schemaAt(paths.amount, amount_minor),
    schemaAt(paths.currency, currency),
    schemaAt(paths.owner, Owner),
  ])
}

function schemaAt(path: string, schema: v.GenericSchema): v.GenericSchema {
  const inData = path.split('.').slice(1)
  return inData.reduceRight(
    (inner, name): v.GenericSchema => v.looseObject({ [name]: v.exactOptional(inner) }),
    schema,
  )
}
