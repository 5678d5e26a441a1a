import * as v from 'valibot'
import { type Cart, type CartLine, isPriced, nextVersion } from '../carts/cart.ts'
import { cartLinesOf, changedCart, findCart } from '../carts/cart-store.ts'
import type { Code } from '../codes/code.ts'
import { findByText } from '../codes/code-store.ts'
import { timestamp } from '../platform/base/clock.ts'
import { Denial, type Details, Failure, fail } from '../platform/base/failure.ts'
import type { Decision, Revisable } from '../platform/idempotency/decision.ts'
import { tenantReachOf } from '../platform/identity/authorize.ts'
import { sessionIssuer } from '../platform/identity/session.ts'
import type { RequestContext } from '../platform/request/context.ts'
import { ok, rejection } from '../platform/request/endpoint.ts'
import { keyOf, maxShards } from '../platform/table/keys.ts'
import { create, type Write } from '../platform/table/table.ts'
import { openPoint } from '../settings/per-settings.ts'
import { discountsOf, type PricedCode, priceCode, usableCodes } from './cart-discounts.ts'
import { promoRejected } from './promo-events.ts'

/** The response to a verification. */
export const Discount = v.pipe(
  v.strictObject({
    applied: v.pipe(
      v.boolean(),
      v.description('Whether the cart has the discount. Without a cart: whether the code is valid.'),
    ),
    amount: v.pipe(
      v.number(),
      v.integer(),
      v.minValue(0),
      openPoint('discount.amount'),
      v.description('The discount on the cart in minor units. Without a cart: 0.'),
    ),
  }),
  v.title('Discount'),
)
export type Discount = v.InferOutput<typeof Discount>

/** A request to verify a code. */
interface Verification {
  /** The code's text in its stored form. */
  text: string
  cartId: string | undefined
}

type Context = Pick<
  RequestContext,
  'table' | 'settings' | 'scope' | 'caller' | 'correlation' | 'now' | 'newId' | 'environment'
>

/** How long the item that carries the event of a rejection is kept, in seconds. */
const retentionSeconds = 24 * 3600

/**
 * Decides whether a code applies. With a cart, the code becomes one of its discounts. Without a cart, only the code
 * is checked and nothing is applied. An unknown, expired, archived or deleted code gets the same response after the
 * same reads.
 * @throws NOT_FOUND.cart, AUTHZ.role.denied
 */
export async function verifyDiscount(request: Verification, context: Context): Promise<Decision<Discount>> {
  const { table, settings, now, scope } = context
  const { text, cartId } = request
  const { tenant } = scope
  const [code, cart, lines] = await Promise.all([
    findByText(table, tenant, text),
    cartId === undefined ? undefined : findCart(table, tenant, cartId),
    cartId === undefined ? [] : cartLinesOf(table, tenant, cartId),
  ])
  if (cartId !== undefined) return verifyOnCart(request, { code, cart, lines }, context)
  const priced = priceCode(code, now(), settings)
  return typeof priced === 'string'
    ? notApplied({ request, failure: fail(priced) }, context)
    : ok({ applied: true, amount: 0 })
}

interface Found {
  code: Code | undefined
  cart: Cart | undefined
  lines: readonly CartLine[]
}

/**
 * Applies a code to a cart, or removes it if it does not apply. Other codes on the cart that became unusable are removed
 * too. A cart whose discounts stay the same is not written.
 */
async function verifyOnCart(
  request: Verification,
  found: Found,
  context: Context,
): Promise<Decision<Discount>> {
  const { table, settings, now, correlation } = context
  const { text } = request
  const { code, cart } = found
  if (!isPriced(cart)) throw fail('NOT_FOUND.cart')
  checkMayApply(cart, context)
  const present = await usableCodes(cart, { table, settings, now: now() }, code)
  const others = present.filter((one) => one.code !== text)
  const verified = applicable(found, others, context)
  const codes = verified instanceof Failure ? others : withCode(verified, present)
  const after = { ...cart, version: nextVersion(cart, now()) }
  const { discounts, events } = discountsOf(after, codes, { settings, correlationId: correlation.id })
  const isChanged = events.length > 0 || discounts.length < (cart.discounts?.length ?? 0)
  const change: Revisable<Decision<Discount>> = {
    // All discounts share the cart's version, so concurrently applied codes cannot exceed the cart together.
    writes: [changedCart(cart, { ...after, discounts })],
    events,
    // Gift cards and the code may have changed with the cart.
    onConflict: () => verifyDiscount(request, context),
  }
  const effects = isChanged ? change : {}
  if (verified instanceof Failure) return notApplied({ request, failure: verified, effects }, context)
  const discount = discounts.find((one) => one.code === text)
  return discount
    ? ok({ applied: true, amount: discount.amount_minor }, effects)
    : notApplied({ request, failure: fail('POLICY.code.currency'), effects }, context)
}

/** Returns a code with its pricing rule, or why it cannot be on a cart with the other codes. */
function applicable(
  { code, lines }: Found,
  others: readonly PricedCode[],
  { settings, now }: Pick<Context, 'settings' | 'now'>,
): PricedCode | Failure {
  const priced = priceCode(code, now(), settings)
  if (typeof priced === 'string') return fail(priced)
  const { maxCodes: max } = settings['discount.combination']
  if (others.length >= max) return notCombinable({ reason: 'max_codes', max })
  const hasGiftCard = lines.some(({ kind }) => kind === 'giftcard')
  return hasGiftCard && !priced.pricing.combinable_with_gift_card
    ? notCombinable({ reason: 'gift_card' })
    : priced
}

function notCombinable(details: Details): Failure {
  return fail('CONFLICT.code.not_combinable', { details })
}

/** Adds a code unless it is among those on the cart. */
function withCode(code: PricedCode, present: readonly PricedCode[]): readonly PricedCode[] {
  return present.some(({ code_id }) => code_id === code.code_id) ? present : [...present, code]
}

/** @throws AUTHZ.role.denied by the setting discount.mayApply */
function checkMayApply(cart: Cart, context: Pick<Context, 'caller' | 'settings' | 'environment'>): void {
  const { caller, settings } = context
  const policy = settings['discount.mayApply']
  const isOwner = cart.owner === undefined || isSubject(cart.owner, context)
  if (policy === 'readers' || (policy === 'owner' && isOwner)) return
  if (tenantReachOf(caller?.role, 'update', settings['auth.serviceRole'].actsAs) !== 'deny') return
  throw new Denial(fail('AUTHZ.role.denied'), 'AUTHZ.role.denied', `cart/${cart.cart_id}`)
}

/** Returns whether the caller is this subject of the issuer whose subjects own carts. Others may use the same name. */
function isSubject(
  subject: string,
  { caller, settings, environment }: Pick<Context, 'caller' | 'settings' | 'environment'>,
): boolean {
  const name = settings['discount.cartOwners']
  const issuers: Record<string, string | undefined> = {
    user_pool: environment('USER_POOL_ISSUER'),
    sessions: sessionIssuer,
  }
  const issuer = Object.hasOwn(issuers, name) ? issuers[name] : name
  return issuer !== undefined && caller?.claims.iss === issuer && caller.sub === subject
}

interface Rejected {
  request: Verification
  failure: Failure
  /** The change of the cart, if its discounts change. */
  effects?: Revisable<Decision<Discount>>
}

/**
 * Publishes the rejection of a code. Codes that cannot be combined get an error. Every other reason gets the same
 * response, so guessing does not reveal which codes exist.
 */
function notApplied(
  { request, failure, effects = {} }: Rejected,
  context: Pick<Context, 'scope' | 'correlation' | 'settings' | 'now' | 'newId'>,
): Decision<Discount> {
  const { scope, correlation, settings } = context
  const event = promoRejected({
    tenant_id: scope.tenant,
    cart_id: request.cartId ?? null,
    code: request.text,
    error_code: failure.code,
    correlation_id: correlation.id,
  })
  const { writes = [eventCarrier(context)], events = [] } = effects
  const all = { ...effects, writes, events: [event, ...events] }
  if (failure.code === 'CONFLICT.code.not_combinable') return rejection(failure, all)
  if (settings['discount.rejection'].status === 404) return rejection(fail('NOT_FOUND.code'), all)
  return ok({ applied: false, amount: 0 }, all)
}

/** Returns an item that carries the event of a rejection without a change of a cart. */
function eventCarrier({ now, newId, scope }: Pick<Context, 'now' | 'newId' | 'scope'>): Write {
  const [at, expires_at] = [timestamp(now()), Math.floor(now() / 1000) + retentionSeconds]
  return create({ ...keyOf(scope.tenant, 'verification', newId(maxShards)), at, expires_at })
}
