import type { Cart } from '#shared/carts/cart.ts'
import type { Pricing } from '#shared/discounts/amount-off.ts'
import type { Settings } from '#shared/settings/register.ts'
import { type ItemPromise, typedOwnerOf } from './promise.ts'

/** Each line of a cart is what its rule gives for the amount of the cart and what the lines before it leave. */
export const cartPromise: ItemPromise = (item, { settings }, broken) => {
  if (typedOwnerOf(item).entity !== 'cart') return
  const { amount_minor: total = 0, currency, discounts = [] } = item as unknown as Cart
  let left = total
  for (const { code_id, rule_id, amount_minor } of discounts) {
    const rules = Object.values(settings['codes.types']).filter((rule) => rule.rule_id === rule_id)
    const allowed = rules.map((rule) => amountOf(rule, { total, left, currency }, settings))
    if (rules.length > 0 && !allowed.includes(amount_minor))
      broken(
        'lines follow their rules',
        `of ${total} ${currency}, the line of code/${code_id} takes ${amount_minor}, and ${rule_id} gives ${allowed[0] ?? 'nothing'}`,
      )
    left -= amount_minor
  }
  if (new Set(discounts.map(({ code_id }) => code_id)).size !== discounts.length)
    broken('a code is on a cart once', `its codes are ${discounts.map(({ code_id }) => code_id).join()}`)
}

/** The fraction digits of a percentage that count. */
const digits = 12

/** Computes a line without the code that computes it in the service. @returns undefined for a rule of another currency */
function amountOf(
  rule: Pricing,
  { total, left, currency }: { total: number; left: number; currency: string | undefined },
  settings: Settings,
): number | undefined {
  const { rounding, cappedAtCart } = settings['discount.amount']
  if ('currency' in rule && rule.currency !== currency) return undefined
  const amount = uncapped(rule, total, rounding)
  return cappedAtCart ? Math.min(amount, Math.max(0, left)) : amount
}

type Rounding = Settings['discount.amount']['rounding']

function uncapped(rule: Pricing, total: number, rounding: Rounding): number {
  switch (rule.kind) {
    case 'percentage': {
      const share = BigInt(rule.value.toFixed(digits).replace('.', ''))
      return divided(BigInt(total) * share, 100n * 10n ** BigInt(digits), rounding)
    }
    case 'fixed':
      return rule.value
  }
}

function divided(value: bigint, by: bigint, rounding: Rounding): number {
  const [whole, twice] = [value / by, (value % by) * 2n]
  const isHalf = twice === by
  const isUp = isHalf ? rounding === 'half-up' || (rounding === 'half-even' && whole % 2n === 1n) : twice > by
  return Number(isUp && rounding !== 'down' ? whole + 1n : whole)
}
