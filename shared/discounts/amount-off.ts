import Big from 'big.js'
import type { PricedCart } from '../carts/cart.ts'
import type { Settings } from '../settings/register.ts'

export type Pricing = Settings['codes.types'][string]

const roundings = {
  'half-even': Big.roundHalfEven,
  'half-up': Big.roundHalfUp,
  down: Big.roundDown,
} as const

/**
 * Returns the discount of a code in minor units of the cart's currency.
 * @param earlierDiscounts the total discount of the codes that were applied to the cart before
 * @returns undefined if the currencies of code and cart differ
 */
export function amountOff(
  pricing: Pricing,
  cart: Pick<PricedCart, 'amount_minor' | 'currency'>,
  earlierDiscounts: number,
  settings: Settings,
): number | undefined {
  const { rounding, cappedAtCart } = settings['discount.amount']
  if (pricing.kind === 'fixed' && pricing.currency !== cart.currency) return undefined
  const exact =
    pricing.kind === 'fixed'
      ? new Big(pricing.value)
      : new Big(cart.amount_minor).times(pricing.value).div(100)
  const whole = exact.round(0, roundings[rounding]).toNumber()
  return cappedAtCart ? Math.min(whole, Math.max(0, cart.amount_minor - earlierDiscounts)) : whole
}
