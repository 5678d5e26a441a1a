/** What this service knows of a cart of another: the latest that it was told. */
export interface Cart {
  /** The sender's own: it may be the same in several tenants. */
  cart_id: string
  tenant_id: string
  /** In minor units of the currency. */
  amount_minor: number
  currency: string
  /** When the cart was as told here, and by which event; what happened earlier no longer changes it. */
  occurred_at: string
  event_id: string
  version: number
}

/** Something on a cart: a gift card, a discount, or when its tax was last calculated. */
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
