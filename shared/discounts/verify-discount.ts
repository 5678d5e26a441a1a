import { type Cart, type CartLine, discountsOf, isPriced, sumOf } from '../carts/cart.ts'
import { changedCart, findCart, linesOf } from '../carts/cart-store.ts'
import type { Code } from '../codes/code.ts'
import { findByText } from '../codes/code-store.ts'
import type { ErrorCode } from '../error-catalog.ts'
import { timestamp } from '../platform/base/clock.ts'
import { Denial, fail } from '../platform/base/failure.ts'
import { reachOf } from '../platform/identity/authorize.ts'
import type { RequestContext } from '../platform/request/context.ts'
import { type Decision, ok, rejection as rejected } from '../platform/request/endpoint.ts'
import { keyOf } from '../platform/table/keys.ts'
import { create, type Write } from '../platform/table/table.ts'
import type { Settings } from '../settings/register.ts'
import { amountOff, type Pricing } from './amount-off.ts'
import { promoApplied, promoRejected } from './promo-events.ts'

/** A request to verify a code. */
export interface Verification {
  /** The code's text in its stored form. */
  text: string
  cartId: string | undefined
}

/** How long the item that carries the event is kept, in seconds. */
const retentionSeconds = 24 * 3600

/**
 * Decides whether a code applies. With a cart, the code becomes one of its discounts. Without a cart, only the code
 * is checked and nothing is applied. An unknown, expired, archived or deleted code gets the same response after the
 * same reads.
 * @throws NOT_FOUND.cart, AUTHZ.role.denied
 */
export async function verifyDiscount(request: Verification, context: RequestContext): Promise<Decision> {
  const { table, settings, now, scope } = context
  const { text, cartId } = request
  const { tenant } = scope
  const [code, cart, lines] = await Promise.all([
    findByText(table, tenant, text),
    cartId === undefined ? undefined : findCart(table, tenant, cartId),
    cartId === undefined ? [] : linesOf(table, tenant, cartId),
  ])
  const pricing = pricingOf(code, now(), settings)
  if (cartId !== undefined) return verifyOnCart(request, { pricing, cart, lines }, context)
  return typeof pricing === 'string'
    ? notApplied(request, pricing, context)
    : ok({ applied: true, amount: 0 })
}

/** The pricing rule of a code, or the reason why the code cannot be used. */
function pricingOf(code: Code | undefined, now: number, settings: Settings): Pricing | ErrorCode {
  if (!code) return 'NOT_FOUND.code'
  if (code.state === 'soft_deleted') return 'GONE.code'
  if (code.state !== 'active') return 'POLICY.code.inactive'
  if (Date.parse(code.expiry_at) < now) return 'POLICY.code.expired'
  return settings['codes.types'][code.type] ?? 'POLICY.code.inactive'
}

interface Found {
  pricing: Pricing | ErrorCode
  cart: Cart | undefined
  lines: readonly CartLine[]
}

function verifyOnCart(request: Verification, found: Found, context: RequestContext): Decision {
  const { settings } = context
  const { pricing, cart, lines } = found
  if (!isPriced(cart)) throw fail('NOT_FOUND.cart')
  checkMayApply(cart, context)
  if (typeof pricing === 'string') return notApplied(request, pricing, context)
  const known = discountsOf(cart, lines)
  const others = known.filter(({ code }) => code !== request.text)
  const hasGiftCard = lines.some(({ kind }) => kind === 'giftcard')
  const isFull = others.length >= settings['discount.combination'].maxCodes
  if (isFull || (hasGiftCard && !pricing.combinable_with_gift_card)) return notCombinable(request, context)
  const amount = amountOff(pricing, cart, sumOf(others), settings)
  if (amount === undefined) return notApplied(request, 'POLICY.code.currency', context)
  const discount = { code: request.text, amount_minor: amount }
  const discounts =
    others.length === known.length
      ? [...known, discount]
      : known.map((one) => (one.code === request.text ? discount : one))
  const { note, promo } = announcement(request, context)
  return ok(
    { applied: true, amount },
    {
      // All discounts share the cart's version, so concurrently applied codes cannot exceed the cart together.
      writes: [note, changedCart(cart, { ...cart, discounts, version: cart.version + 1 })],
      events: promoApplied({ ...promo, cart_id: cart.cart_id, amount, rule_id: pricing.rule_id }),
      onConflict: async (existing) =>
        verifyOnCart(request, { ...found, cart: existing as Cart | undefined }, context),
    },
  )
}

/** @throws AUTHZ.role.denied by the setting discount.mayApply */
function checkMayApply(cart: Cart, { caller, settings }: RequestContext): void {
  const policy = settings['discount.mayApply']
  const isOwner = cart.owner === undefined || cart.owner.subject === caller?.sub
  if (policy === 'readers' || (policy === 'owner' && isOwner)) return
  if (reachOf(caller?.role, 'update', settings['auth.serviceRole'].actsAs) !== 'deny') return
  throw new Denial(fail('AUTHZ.role.denied'), 'AUTHZ.role.denied', `cart/${cart.cart_id}`)
}

function notCombinable(request: Verification, context: RequestContext): Decision {
  const failure = fail('CONFLICT.code.not_combinable')
  return rejected(failure, rejectionEffects(request, failure.code, context))
}

/** Returns the same response for every reason, so guessing does not reveal which codes exist. */
function notApplied(request: Verification, reason: ErrorCode, context: RequestContext): Decision {
  const effects = rejectionEffects(request, reason, context)
  if (context.settings['discount.rejection'].status === 404) return rejected(fail('NOT_FOUND.code'), effects)
  return ok({ applied: false, amount: 0 }, effects)
}

function rejectionEffects(request: Verification, reason: ErrorCode, context: RequestContext) {
  const { note, promo } = announcement(request, context)
  const events = promoRejected({ ...promo, cart_id: request.cartId ?? null, error_code: reason })
  return { writes: [note], events }
}

/** Returns the common fields of a verification event, and the item that carries the event. */
function announcement({ text }: Verification, { now, newId, scope, correlation }: RequestContext) {
  const { tenant } = scope
  const id = newId()
  const [at, expires_at] = [timestamp(now()), Math.floor(now() / 1000) + retentionSeconds]
  const note: Write = create({ ...keyOf(tenant, 'verification', id), at, expires_at })
  return { note, promo: { id, tenant_id: tenant, code: text, correlation_id: correlation.id } }
}
