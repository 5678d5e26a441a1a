import * as v from 'valibot'
import {
  type Cart,
  type CartFacts,
  CartId,
  type EventPosition,
  isPriced,
  nextVersion,
} from '../carts/cart.ts'
import { changedCart, findCart, lineItem } from '../carts/cart-store.ts'
import { discountsOf, usableCodes } from '../discounts/cart-discounts.ts'
import { isEarlier } from '../platform/base/clock.ts'
import { defineEvent } from '../platform/events/event-definition.ts'
import { wholeNumber } from '../platform/formats/text.ts'
import type { Item } from '../platform/table/keys.ts'
import { create, replace, type Table } from '../platform/table/table.ts'
import { openPoint } from '../settings/per-settings.ts'
import type { Settings } from '../settings/register.ts'
import { eventData, type Handled, type Handler, type HandlerContext } from './handler.ts'
import type { WebhookEvent } from './webhook-event.ts'

const amount = wholeNumber(0)
const currency = v.pipe(v.string(), v.regex(/^[A-Z]{3}$/))
/** The table stores no lone surrogates. */
const text = v.pipe(
  v.string(),
  v.check((given) => given.isWellFormed()),
)
/** What shops send for a guest states no owner: null, an empty text, 0 and false. */
const owner = v.union([v.pipe(text, v.maxLength(255)), v.null(), v.literal(0), v.literal(false)])
const GiftCard = v.object({ giftcard_id: v.pipe(text, v.minLength(1)), amount })

const cartFields = (settings: Settings) => ({
  ...eventData(settings),
  cart_id: v.exactOptional(v.pipe(CartId, v.description('The cart; data.id if it is absent.'))),
  correlation_id: v.exactOptional(v.string()),
})

export const CartUpdated = defineEvent({
  type: 'cart.updated',
  version: 1,
  summary:
    'A cart changed. Amount, currency and owner each follow the latest event that states them. The owner null, an empty text, 0 or false states none.',
  data: (settings) => v.pipe(cartData(settings), openPoint('discount.cartFields')),
})

export const GiftcardApplied = defineEvent({
  type: 'giftcard.applied',
  version: 1,
  summary: 'A gift card was applied to a cart. Repeated events add one line.',
  data: (settings) => v.looseObject({ ...cartFields(settings), ...GiftCard.entries }),
})

export const TaxRecalculated = defineEvent({
  type: 'tax.recalculated',
  version: 1,
  summary: 'The tax of a cart was recalculated.',
  data: (settings) => v.looseObject(cartFields(settings)),
})

/**
 * Amount, currency and owner each follow the latest event that states them, whatever the order of arrival. Discounts
 * follow their rules, and those that change are published.
 */
export const cartUpdated: Handler = async (event, context) => {
  const { table, settings, tenant } = context
  const stated = statedBy(event, settings)
  const facts = Object.keys(stated) as (keyof CartFacts)[]
  if (facts.length === 0) return 'ignored'
  const cart_id = cartIdOf(event)
  const known = await findCart(table, tenant, cart_id)
  const latest = facts.filter((fact) => !isStale(event, known?.stated[fact], context))
  if (latest.length === 0) return 'stale'
  const after: Cart = {
    ...known,
    ...Object.fromEntries(latest.map((fact) => [fact, stated[fact]])),
    stated: { ...known?.stated, ...Object.fromEntries(latest.map((fact) => [fact, positionOf(event)])) },
    cart_id,
    tenant_id: tenant,
    version: nextVersion(known, context.now),
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

/** Orders events of the same time by id, so that the order of delivery does not matter. */
function isBefore(one: EventPosition, other: EventPosition): boolean {
  if (one.occurred_at !== other.occurred_at) return isEarlier(one.occurred_at, other.occurred_at)
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
  const latest = now + settings['webhooks.windowSeconds'] * 1000
  return Date.parse(occurred_at) <= latest && !isBefore({ occurred_at, event_id }, event)
}

/** Returns the cart that an event names. */
function cartIdOf({ data }: WebhookEvent): string {
  return v.parse(v.optional(CartId), data.cart_id) ?? data.id
}

const Facts = v.object({
  amount_minor: v.optional(amount),
  currency: v.optional(currency),
  owner: v.pipe(
    v.optional(owner),
    v.transform((given) => given || undefined),
  ),
})

/** Returns the facts that an event states. */
function statedBy(event: WebhookEvent, settings: Settings): Partial<CartFacts> {
  const paths = settings['discount.cartFields']
  const given = {
    amount_minor: valueAt(event, paths.amount),
    currency: valueAt(event, paths.currency),
    owner: valueAt(event, paths.owner),
  }
  const facts = Object.entries(v.parse(Facts, given))
  return Object.fromEntries(facts.filter(([, value]) => value !== undefined))
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
  return v.intersect([
    v.looseObject(cartFields(settings)),
    schemaAt(paths.amount, amount),
    schemaAt(paths.currency, currency),
    // A guest's cart may have null for the object that would name the owner.
    schemaAt(paths.owner, owner, v.nullable),
  ])
}

/** @param inner what becomes of the schemas of the objects within the data */
function schemaAt(
  path: string,
  schema: v.GenericSchema,
  inner: (schema: v.GenericSchema) => v.GenericSchema = (one) => one,
): v.GenericSchema {
  const [last = '', ...outside] = path.split('.').slice(1).reverse()
  const around = (within: v.GenericSchema, name: string): v.GenericSchema =>
    v.looseObject({ [name]: v.exactOptional(within) })
  return outside.reduce((within, name) => around(inner(within), name), around(schema, last))
}
