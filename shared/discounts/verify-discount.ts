import type { Cart } from '../carts/cart.ts'
import { findCart, lineItem, linesOf } from '../carts/cart-store.ts'
import type { Code } from '../codes/code.ts'
import { findByText } from '../codes/code-store.ts'
import { timestamp } from '../platform/clock.ts'
import { fail } from '../platform/errors/failure.ts'
import type { Context } from '../platform/http/endpoint.ts'
import { ok, type Reply, refusal } from '../platform/http/reply.ts'
import { keyOf } from '../platform/table/keys.ts'
import { create, put, type Write } from '../platform/table/writes.ts'
import type { Settings } from '../settings/register.ts'
import { amountOff } from './pricing.ts'
import { type Promo, promoApplied, promoRejected } from './promo-events.ts'

/** Who asks for what. */
export interface Verification {
  tenant: string
  /** The code's text in its stored form. */
  text: string
  cartId: string | undefined
  correlationId: string
}

/** How long the note of a verification is kept, in seconds: it only carries its event. */
const keptSeconds = 24 * 3600

/**
 * Decides whether a code applies, to a cart where one is named (contract, 'POST /discount/verify'). A code that is
 * unknown, expired, archived or deleted is answered alike, after the same reads.
 * @throws NOT_FOUND.cart
 */
export async function verifyDiscount(asked: Verification, context: Context): Promise<Reply> {
  const { table, settings, now, newId } = context
  const { tenant, text, cartId, correlationId } = asked
  const [code, cart, giftcards] = await Promise.all([
    findByText(table, tenant, text),
    cartId === undefined ? undefined : findCart(table, tenant, cartId),
    cartId === undefined ? [] : linesOf(table, tenant, cartId, 'giftcard'),
  ])
  if (cartId !== undefined && !cart) throw fail('NOT_FOUND.cart')
  const promo: Promo = {
    id: newId(),
    tenant_id: tenant,
    cart_id: cartId ?? null,
    code: text,
    correlation_id: correlationId,
  }
  const note = noteOf(promo, now())
  const pricing = usable(code, now()) ? settings['codes.types'][code.type] : undefined
  if (!pricing) return rejected(promo, note, settings)
  if (!pricing.combinable_with_gift_card && giftcards.length > 0) {
    const failure = fail('CONFLICT.code.not_combinable')
    return refusal(failure, { writes: [note], events: promoRejected({ ...promo, error_code: failure.code }) })
  }
  const amount = cart ? amountOff(pricing, cart, settings) : 0
  if (amount === undefined) return rejected(promo, note, settings)
  const { rule_id } = pricing
  return ok(
    { applied: true, amount },
    {
      writes: [note, ...discountLine(cart, text, amount, now())],
      events: promoApplied({ ...promo, amount, rule_id }),
    },
  )
}

function usable(code: Code | undefined, now: number): code is Code {
  return code !== undefined && code.state === 'active' && Date.parse(code.expiry_at) >= now
}

/** The one answer for whatever a code lacks: who guesses learns nothing of which codes there are. */
function rejected(promo: Promo, note: Write, settings: Settings): Reply {
  const effects = { writes: [note], events: promoRejected({ ...promo, error_code: 'CODE.invalid' }) }
  if (settings['discount.rejection'].status === 404) return refusal(fail('NOT_FOUND.code'), effects)
  return ok({ applied: false, amount: 0 }, effects)
}

/** What carries the event of a verification. */
function noteOf(promo: { id: string; tenant_id: string }, now: number): Write {
  const key = keyOf(promo.tenant_id, 'verification', promo.id)
  return create({ ...key, at: timestamp(now), expires_at: Math.floor(now / 1000) + keptSeconds })
}

/** One line for a code on a cart, however often it is verified. */
function discountLine(cart: Cart | undefined, text: string, amount: number, now: number): Write[] {
  if (!cart) return []
  const line = { cart_id: cart.cart_id, kind: 'discount' as const, name: text, amount_minor: amount }
  return [put(lineItem(cart.tenant_id, { ...line, occurred_at: timestamp(now) }))]
}
