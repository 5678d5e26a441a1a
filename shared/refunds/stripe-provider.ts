import Stripe from 'stripe'
import type { Clock } from '../platform/base/clock.ts'
import { fail } from '../platform/base/failure.ts'
import type { WorkContext } from '../platform/request/context.ts'
import type { EarlierUse, PaymentProvider, ProviderOutcome, ProviderRequest } from './payment-provider.ts'
import { providerKey } from './provider-key.ts'
import {
  absent,
  type CallOptions,
  readWithRetries,
  refusedCall,
  remainingTime,
  type StripeError,
  type StripeOptions,
  stripeClient,
  withRetries,
} from './stripe-client.ts'
import {
  metadataName,
  providerRefundOf,
  requestMetadataName,
  stripeStatuses,
  tenantMetadataName,
} from './stripe-refund.ts'

/** Stripe keeps a key for at least 24 hours. After this time, the payout is looked up before a new request. */
const keyLifeMilliseconds = 20 * 3600 * 1000
const exceedsCharge = new Set(['charge_already_refunded', 'amount_too_large'])

/** Returns the provider of the deployment. */
export async function deployedPaymentProvider(
  context: Pick<WorkContext, 'settings' | 'clock' | 'correlation' | 'secret'>,
): Promise<PaymentProvider> {
  const { endpoint, attemptMilliseconds } = context.settings['refunds.provider']
  const { clock, correlation } = context
  const apiKey = await providerKey(context)
  return stripeProvider({ apiKey, endpoint, attemptMilliseconds, trace: correlation.trace, clock })
}

/** Creates a provider that refunds by Stripe's API, in the connected account of the request. */
export function stripeProvider(options: StripeOptions): PaymentProvider {
  const { attemptMilliseconds, clock } = options
  const stripe = stripeClient(options)
  const find: PaymentProvider['find'] = (request, budget) => {
    const remaining = remainingTime(budget, clock)
    return readWithRetries(options, budget, async (call) => {
      const { account, chargeId: charge, providerRefundId } = request
      if (providerRefundId !== undefined) {
        // Its owner can edit the metadata of a payout, not its id.
        const read = stripe.refunds.retrieve(providerRefundId, {}, { stripeAccount: account, ...call })
        const payout = await read.catch(absent)
        return payout && outcomeNow(payout)
      }
      const refund = await findPayout(request, { charge }, { stripe, call, remaining })
      return refund && isOf(request, refund) ? outcomeNow(refund) : undefined
    })
  }
  return {
    find,
    async refund(request, budget) {
      // Whatever Stripe refuses says nothing about a refund that it has accepted, and a new request could pay it again.
      if (request.providerRefundId !== undefined) {
        const outcome = await find(request, budget)
        if (outcome) return outcome
        throw fail('DEPENDENCY.unavailable', {
          cause: new Error('Stripe does not know a refund that it accepted'),
        })
      }
      const remaining = remainingTime(budget, clock)
      try {
        return await withRetries(options, remaining, (call) =>
          askOnce(request, { stripe, call, clock, remaining }),
        )
      } catch (thrown) {
        if (!(thrown instanceof Stripe.errors.StripeError)) throw thrown
        if (thrown.rawType === 'idempotency_error' && !request.usesOwnKey)
          return readWithRetries(options, budget, (call) => earlierUse(request, { stripe, call, remaining }))
        const outcome = refused(thrown)
        if (!('reason' in outcome) || outcome.reason !== 'exceeds_charge') return outcome
        return {
          ...outcome,
          remaining: await remainingOf(stripe, request, Math.min(attemptMilliseconds, remaining())),
        }
      }
    },
    adopt(providerRefundId, { account, refundId, tenant }, budget) {
      return readWithRetries(options, budget, async (call) => {
        const metadata = { [metadataName]: refundId, [tenantMetadataName]: tenant }
        const params = { stripeAccount: account, ...call }
        return outcomeNow(await stripe.refunds.update(providerRefundId, { metadata }, params))
      })
    },
  }
}

/** One attempt. `remaining` returns the milliseconds that are left of all attempts. */
interface StripeAttempt {
  stripe: Stripe
  call: CallOptions
  remaining: () => number
}

/** @throws StripeError; DEPENDENCY.timeout */
async function askOnce(
  request: ProviderRequest,
  { clock, ...attempt }: StripeAttempt & { clock: Clock },
): Promise<ProviderOutcome | EarlierUse> {
  const { requestedSince, mayBeLost, chargeId: charge } = request
  const keyIsKnown = !mayBeLost && clock.now() - requestedSince < keyLifeMilliseconds
  const paid = keyIsKnown ? undefined : await findPayout(request, { charge }, attempt).catch(absent)
  return paid ? outcomeFor(request, paid) : createRefund(attempt.stripe, request, attempt.call)
}

/**
 * Finds the payout for which Stripe refuses the key of a request. There is none if an earlier attempt was declined, or of a charge
 * that does not exist. If the table may have lost a payout, that of the charge was looked for before, and the payouts of all
 * charges, of which an account may have many, are searched.
 * @throws StripeError; DEPENDENCY.timeout
 */
async function earlierUse(
  request: ProviderRequest,
  attempt: StripeAttempt,
): Promise<ProviderOutcome | EarlierUse> {
  const { chargeId: charge, earliestPayoutAt, mayBeLost } = request
  const selection = mayBeLost ? { created: { gte: Math.floor(earliestPayoutAt / 1000) } } : { charge }
  const found = await findPayout(request, selection, attempt).catch(absent)
  return found ? outcomeFor(request, found) : { status: 'key_used' }
}

function outcomeFor(request: ProviderRequest, refund: Stripe.Refund): ProviderOutcome | EarlierUse {
  return isOf(request, refund) ? outcomeNow(refund) : { status: 'key_used', payout: providerRefundOf(refund) }
}

/** Returns whether a payout is of the refund itself. */
function isOf({ refundId }: ProviderRequest, { metadata }: Stripe.Refund): boolean {
  return metadata?.[metadataName] === refundId
}

async function createRefund(
  stripe: Stripe,
  request: ProviderRequest,
  options: CallOptions,
): Promise<ProviderOutcome> {
  const { account, chargeId, amount, refundId, tenant, requestName, usesOwnKey } = request
  const metadata = {
    [metadataName]: refundId,
    [tenantMetadataName]: tenant,
    [requestMetadataName]: requestName,
  }
  const idempotencyKey = usesOwnKey ? `refund-${refundId}` : `request-${requestName}`
  const refund = await stripe.refunds.create(
    { charge: chargeId, amount, metadata },
    { stripeAccount: account, idempotencyKey, ...options },
  )
  // The type is an object, but this client returns a Headers.
  const headers = new Headers(refund.lastResponse.headers)
  return providerOutcome(refund, headers.get('idempotent-replayed') === 'true')
}

/**
 * Returns the payout of a refund, found by its metadata; or else the latest one of the same request. The time limit of a call
 * is that of a page, and there may be any number of them.
 * @throws StripeError; DEPENDENCY.timeout
 */
async function findPayout(
  request: ProviderRequest,
  selection: Pick<Stripe.RefundListParams, 'charge' | 'created'>,
  { stripe, call, remaining }: StripeAttempt,
): Promise<Stripe.Refund | undefined> {
  const { account, requestName, usesOwnKey } = request
  let ofRequest: Stripe.Refund | undefined
  const selected = stripe.refunds.list({ ...selection, limit: 100 }, { stripeAccount: account, ...call })
  for await (const refund of selected) {
    if (isOf(request, refund)) return refund
    if (!usesOwnKey && refund.metadata?.[requestMetadataName] === requestName) ofRequest ??= refund
    if (remaining() < 1) throw fail('DEPENDENCY.timeout')
  }
  return ofRequest
}

/** Returns the rest of a charge, for the caller's information only: undefined if Stripe does not return it. */
async function remainingOf(
  stripe: Stripe,
  { account, chargeId }: ProviderRequest,
  timeout: number,
): Promise<number | undefined> {
  if (timeout < 1) return undefined
  const options = { stripeAccount: account, timeout }
  try {
    const charge = await stripe.charges.retrieve(chargeId, {}, options)
    const rest = charge.amount - charge.amount_refunded
    return Number.isSafeInteger(rest) ? rest : undefined
  } catch {
    // Whatever happened, the outcome stands: a refund without one would stay pending.
    return undefined
  }
}

/** Returns the outcome of a payout that was looked up. */
function outcomeNow(refund: Stripe.Refund) {
  return { ...providerOutcome(refund, true), lookedUp: true as const }
}

function providerOutcome({ id, status, currency }: Stripe.Refund, replayed: boolean) {
  const known = stripeStatuses.get(status)
  // The client treats JSON without an error as success, even a gateway's 5xx.
  if (!known) throw new Stripe.errors.StripeAPIError({ message: 'the answer is no refund' })
  return { status: known, providerRefundId: id, currency: currency?.toUpperCase(), replayed }
}

/**
 * Returns the outcome of a final 4xx response.
 * @throws DEPENDENCY.unavailable when Stripe rejected the service's credentials, not the request
 */
function refused(error: StripeError): ProviderOutcome {
  const { statusCode, rawType, code = '', param, message } = error
  if (rawType === 'idempotency_error')
    throw new Error('a key of the payment provider stands for another refund')
  if (code === 'resource_missing') return { status: 'rejected', reason: 'no_such_charge' }
  // A key without access to the account of a tenant says nothing about a charge that an earlier attempt may have refunded.
  if (statusCode === 401 || statusCode === 403) throw refusedCall(error)
  // Stripe sends no code if the charge was partly refunded.
  if (exceedsCharge.has(code) || (param === 'amount' && /is greater than/.test(message))) {
    return { status: 'rejected', reason: 'exceeds_charge' }
  }
  return { status: 'rejected', reason: 'declined' }
}
