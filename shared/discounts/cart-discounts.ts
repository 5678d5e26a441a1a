import type { CartDiscount, PricedCart } from '../carts/cart.ts'
import type { Code } from '../codes/code.ts'
import { findCodes } from '../codes/code-store.ts'
import type { ErrorCode } from '../error-catalog.ts'
import type { OutgoingEvent } from '../platform/events/outbox.ts'
import type { Table } from '../platform/table/table.ts'
import type { Settings } from '../settings/register.ts'
import { amountOff, type Pricing } from './amount-off.ts'
import { promoApplied } from './promo-events.ts'

/** A usable code and its pricing rule. */
export interface PricedCode {
  code: string
  code_id: string
  pricing: Pricing
}

/** Returns a code with its pricing rule, or the reason why the code cannot be used. @param now milliseconds since 1970 */
export function priceCode(code: Code | undefined, now: number, settings: Settings): PricedCode | ErrorCode {
  if (!code) return 'NOT_FOUND.code'
  if (code.state === 'soft_deleted') return 'GONE.code'
  if (code.state !== 'active') return 'POLICY.code.inactive'
  if (Date.parse(code.expiry_at) < now) return 'POLICY.code.expired'
  const pricing = settings['codes.types'][code.type]
  return pricing ? { code: code.code, code_id: code.id, pricing } : 'POLICY.code.inactive'
}

interface CartReading {
  table: Table
  settings: Settings
  /** Milliseconds since 1970. */
  now: number
}

/**
 * Returns the codes on a cart that are still usable, in the order of application. A code that was deleted, archived or
 * has expired does not report that to its carts, so each change of a cart reads them.
 * @param known a code that was read already
 */
export async function usableCodes(
  { tenant_id, discounts = [] }: PricedCart,
  { table, settings, now }: CartReading,
  known?: Code,
): Promise<PricedCode[]> {
  const unknown = discounts.map(({ code_id }) => code_id).filter((id) => id !== known?.id)
  const found = unknown.length > 0 ? await findCodes(table, tenant_id, unknown) : []
  const codes = new Map([...(known ? [known] : []), ...found].map((code) => [code.id, code]))
  const priced = discounts.map(({ code_id }) => priceCode(codes.get(code_id), now, settings))
  return priced.filter((one) => typeof one !== 'string')
}

/**
 * Computes the discounts of a cart from its amount. Each code gets what its rule gives, at most what the codes before
 * it leave. A code in another currency than the cart has no discount.
 * @param cart with its new amount and version, and its discounts from before
 * @param codes in the order of application; the discounts of other codes end
 * @returns the discounts, and an event for each amount that changed
 */
export function discountsOf(
  cart: PricedCart,
  codes: readonly PricedCode[],
  { settings, correlationId }: { settings: Settings; correlationId: string },
): { discounts: CartDiscount[]; events: OutgoingEvent[] } {
  const { cart_id, tenant_id, version, discounts: before = [] } = cart
  const discounts: CartDiscount[] = []
  let sum = 0
  for (const { code, code_id, pricing } of codes) {
    const amount_minor = amountOff(pricing, cart, sum, settings)
    if (amount_minor === undefined) continue
    sum += amount_minor
    const after = { code, code_id, rule_id: pricing.rule_id, amount_minor }
    const same = before.find((one) => isSame(one, after))
    discounts.push(same ?? { ...after, version })
  }
  const kept = new Set(discounts.map(({ code }) => code))
  const ended = before
    .filter(({ code, amount_minor }) => amount_minor > 0 && !kept.has(code))
    .map((discount) => ({ ...discount, amount_minor: 0, version }))
  const changed = [...ended, ...discounts.filter((discount) => discount.version === version)]
  const events = changed.map(({ code, rule_id, amount_minor: amount }) =>
    promoApplied({ cart_id, tenant_id, code, rule_id, amount, version, correlation_id: correlationId }),
  )
  return { discounts, events }
}

function isSame(one: CartDiscount, other: Omit<CartDiscount, 'version'>): boolean {
  return (
    one.code_id === other.code_id && one.rule_id === other.rule_id && one.amount_minor === other.amount_minor
  )
}
