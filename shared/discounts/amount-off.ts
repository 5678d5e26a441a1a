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
  if ('currency' in pricing && pricing.currency !== cart.currency) return undefined
  const whole = exactAmount(pricing, cart.amount_minor).round(0, roundings[rounding]).toNumber()
  return cappedAtCart ? Math.min(whole, Math.max(0, cart.amount_minor - earlierDiscounts)) : whole
}

function exactAmount(pricing: Pricing, amountMinor: number): Big {
  switch (pricing.kind) {
    case 'percentage':
      return new Big(amountMinor).times(pricing.value).div(100)
    case 'fixed':
      return new Big(pricing.value)
  }
}
