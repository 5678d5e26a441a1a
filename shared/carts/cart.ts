import * as v from 'valibot'

/** The time of a fact and the event that stated it. Facts with an earlier time are ignored. */
export interface EventPosition {
  occurred_at: string
  event_id: string
}

/** The id of a cart, in events and in requests: what a header can carry. */
export const CartId = v.pipe(
  v.string(),
  v.minLength(1),
  v.maxLength(255),
  v.regex(/^[\x21-\x7e]+$/),
  v.description('1 to 255 visible ASCII characters.'),
)

/** What events state about a cart. */
export interface CartFacts {
  /** In minor units of the currency. */
  amount_minor: number
  currency: string
  /** The subject of the cart's owner. */
  owner: string
}

/** A cart of another service as known here. Each fact comes from the latest event that stated it. */
export interface Cart extends Partial<CartFacts> {
  /** The sender's id. Several tenants may use the same one. */
  cart_id: string
  tenant_id: string
  /** The events that stated the facts. */
  stated: { [Fact in keyof CartFacts]?: EventPosition }
  /** The discounts of its codes, in the order of application. */
  discounts?: CartDiscount[]
  version: number
}

/** A cart whose amount and currency are known. */
export type PricedCart = Cart & Required<Pick<Cart, 'amount_minor' | 'currency'>>

/** The discount of one code on a cart. */
export interface CartDiscount {
  code: string
  code_id: string
  /** The pricing rule that the amount follows. */
  rule_id: string
  /** In minor units. */
  amount_minor: number
  /** The version of the cart in which the discount last changed, so it also rises when a removed code is applied again. */
  version: number
}

/** An item on a cart: a gift card, or the time of the last tax calculation. */
export interface CartLine {
  cart_id: string
  kind: 'giftcard' | 'tax'
  /** The id of the gift card, or `tax`. */
  name: string
  /** In minor units. */
  amount_minor: number
  occurred_at: string
  /** The event that stated it. */
  event_id: string
}

/**
 * Returns the version of a cart after a change. It is never below the seconds since 1970, so it is above every version that was
 * published before the table went back to an earlier time.
 */
export function nextVersion(before: Cart | undefined, now: number): number {
  return Math.max((before?.version ?? 0) + 1, Math.floor(now / 1000))
}

export function isPriced(cart: Cart | undefined): cart is PricedCart {
  return cart?.amount_minor !== undefined && cart.currency !== undefined
}
