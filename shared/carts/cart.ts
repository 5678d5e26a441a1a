/** The time of a fact and the event that stated it. Facts with an earlier time are ignored. */
export interface Moment {
  occurred_at: string
  event_id: string
}

/** A cart of another service as known here. Each part comes from the latest event that stated it. */
export interface Cart extends Partial<Moment> {
  /** The sender's id. Several tenants may use the same one. */
  cart_id: string
  tenant_id: string
  /** In minor units of the currency. Absent, like its time, until an event states both. */
  amount_minor?: number
  currency?: string
  /** The subject of the cart's owner, if an event named one. */
  owner?: Moment & { subject: string }
  /** The applied codes, in the order of application. */
  discounts?: CartDiscount[]
  version: number
}

/** A cart whose amount is known. */
export type PricedCart = Cart & Required<Pick<Cart, 'amount_minor' | 'currency'>>

/** The discount of one code on a cart, in minor units. */
export interface CartDiscount {
  code: string
  amount_minor: number
}

/**
 * An item on a cart: a gift card, or the time of the last tax calculation. Release 0.1.0 also stored discounts as
 * lines.
 */
export interface CartLine {
  cart_id: string
  kind: 'giftcard' | 'discount' | 'tax'
  /** The id of the gift card, or the text of the discount's code. */
  name: string
  /** In minor units. */
  amount_minor: number
  occurred_at: string
  /** The event that stated it; absent from lines that no event created. */
  event_id?: string
}

export function isPriced(cart: Cart | undefined): cart is PricedCart {
  return cart?.amount_minor !== undefined && cart.currency !== undefined
}

/** Returns the discounts of a cart. @param lines the other items on the cart */
export function discountsOf({ discounts }: Cart, lines: readonly CartLine[]): CartDiscount[] {
  if (discounts) return discounts
  const stored = lines.filter(({ kind }) => kind === 'discount')
  return stored.map(({ name, amount_minor }) => ({ code: name, amount_minor }))
}

export function sumOf(discounts: readonly CartDiscount[]): number {
  return discounts.reduce((sum, { amount_minor }) => sum + amount_minor, 0)
}

/** Reduces discounts to a total limit, the last applied code first. */
export function cutTo(limit: number, discounts: readonly CartDiscount[]): CartDiscount[] {
  let left = limit
  return discounts.map(({ code, amount_minor }) => {
    const kept = Math.min(amount_minor, left)
    left -= kept
    return { code, amount_minor: kept }
  })
}
