/** When something was so, and the event that said it. What was so earlier changes nothing any more. */
export interface Moment {
  occurred_at: string
  event_id: string
}

/** What this service knows of a cart of another service, each part from the latest event that stated it. */
export interface Cart extends Partial<Moment> {
  /** The sender's own: it may be the same in several tenants. */
  cart_id: string
  tenant_id: string
  /** In minor units of the currency. Absent, like its moment, until an event states both. */
  amount_minor?: number
  currency?: string
  /** The subject of the person whose cart it is, where an event named one. */
  owner?: Moment & { subject: string }
  /** The codes on it, in the order in which they were applied. */
  discounts?: CartDiscount[]
  version: number
}

/** A cart whose amount is known. */
export type PricedCart = Cart & Required<Pick<Cart, 'amount_minor' | 'currency'>>

/** What one code takes off a cart, in minor units. */
export interface CartDiscount {
  code: string
  amount_minor: number
}

/** Something on a cart: a gift card, or when its tax was last calculated. Release 0.1.0 stored discounts as lines, too. */
export interface CartLine {
  cart_id: string
  kind: 'giftcard' | 'discount' | 'tax'
  /** Of the gift card, or the text of the discount's code. */
  name: string
  /** In minor units. */
  amount_minor: number
  occurred_at: string
  /** The event that told of it, where one did. */
  event_id?: string
}

export function isPriced(cart: Cart | undefined): cart is PricedCart {
  return cart?.amount_minor !== undefined && cart.currency !== undefined
}

/** The discounts of a cart. @param lines what else is on it */
export function discountsOf({ discounts }: Cart, lines: readonly CartLine[]): CartDiscount[] {
  if (discounts) return discounts
  const stored = lines.filter(({ kind }) => kind === 'discount')
  return stored.map(({ name, amount_minor }) => ({ code: name, amount_minor }))
}

export function sumOf(discounts: readonly CartDiscount[]): number {
  return discounts.reduce((sum, { amount_minor }) => sum + amount_minor, 0)
}

/** The discounts cut so that their sum stays within a limit. The code that was applied last is cut first. */
export function cutTo(limit: number, discounts: readonly CartDiscount[]): CartDiscount[] {
  let left = limit
  return discounts.map(({ code, amount_minor }) => {
    const kept = Math.min(amount_minor, left)
    left -= kept
    return { code, amount_minor: kept }
  })
}
