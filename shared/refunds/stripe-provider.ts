import Stripe from 'stripe'
import type { Budget, Clock } from '../platform/base/clock.ts'
import type { TraceContext } from '../platform/base/correlation.ts'
import { fail } from '../platform/base/failure.ts'
import type { WorkContext } from '../platform/request/context.ts'
import type { PaymentProvider, ProviderOutcome, ProviderRequest } from './payment-provider.ts'

/** The delay before the second and each further attempt, in milliseconds, uniformly distributed in a range. */
const delays = [
  [100, 200],
  [200, 400],
  [400, 800],
  [800, 1600],
] as const
const longestDelayMilliseconds = 2000
/** Stripe keeps a key for at least 24 hours. After this time, the payout is looked up before a new request. */
const keyLifeMilliseconds = 20 * 3600 * 1000
/** The limit of all attempts and delays together. */
const wholeMilliseconds = 10_000

/** Codes of a 409 while another request holds the key or the charge; some have no code. */
const underWay = new Set(['', 'idempotency_key_in_use', 'lock_timeout'])
const noSuchCharge = new Set(['resource_missing', 'account_invalid'])
const exceedsCharge = new Set(['charge_already_refunded', 'amount_too_large'])

/** The metadata field of a Stripe payout that holds the refund's id. */
const metadataName = 'refund_id'

type CallOptions = Pick<Stripe.RequestOptions, 'timeout' | 'headers'>
type StripeError = InstanceType<typeof Stripe.errors.StripeError>

/** Returns the provider of the deployment. */
export async function deployedProvider(context: WorkContext): Promise<PaymentProvider> {
  const { endpoint, attemptMilliseconds } = context.settings['refunds.provider']
  const { clock, correlation } = context
  const apiKey = await context.secret('payments')
  return stripeProvider({ apiKey, endpoint, attemptMilliseconds, trace: correlation.trace, clock })
}

/** Creates a provider that refunds by Stripe's API, in the connected account of the request. */
export function stripeProvider(options: {
  apiKey: string
  /** A URL, of which scheme, host and port are used. */
  endpoint: string
  /** The time limit of one attempt, from connecting to the end of the response. */
  attemptMilliseconds: number
  /** The trace headers of the calls. */
  trace?: TraceContext
  clock: Clock
}): PaymentProvider {
  const { attemptMilliseconds, clock, trace = {} } = options
  const stripe = stripeClient(options.apiKey, new URL(options.endpoint))
  return {
    async refund(request, budget) {
      const remaining = within(budget, clock)
      for (let attempt = 0; ; attempt += 1) {
        const timeout = Math.min(attemptMilliseconds, remaining())
        if (timeout < 1) throw fail('DEPENDENCY.timeout')
        try {
          return await askOnce(stripe, request, { timeout, headers: { ...trace } }, clock)
        } catch (thrown) {
          if (!(thrown instanceof Stripe.errors.StripeError)) throw thrown
          if (!isTransient(thrown)) return refused(thrown)
          const delay = delayBefore(attempt + 1, thrown, remaining(), clock)
          if (delay === undefined) throw fail(failureOf(thrown), { cause: causeOf(thrown) })
          if (delay >= remaining()) throw fail('DEPENDENCY.timeout', { cause: causeOf(thrown) })
          await clock.sleep(delay)
        }
      }
    },
  }
}

function stripeClient(apiKey: string, { hostname, port, protocol }: URL): Stripe {
  const plain = protocol === 'http:'
  return new Stripe(apiKey, {
    protocol: plain ? 'http' : 'https',
    host: hostname,
    port: port || (plain ? 80 : 443),
    maxNetworkRetries: 0,
    telemetry: false,
    // The node:http client restarts its timeout with each byte and excludes connecting. It also repeats a request
    // when its connection was closed, whatever maxNetworkRetries says.
    httpClient: Stripe.createFetchHttpClient(),
  })
}

/** Returns the remaining time of all attempts together, in whole milliseconds. */
function within(budget: Budget, clock: Clock): () => number {
  const deadline = clock.now() + wholeMilliseconds
  return () => Math.floor(Math.min(budget.remaining(), deadline - clock.now()))
}

/** @throws StripeError */
async function askOnce(
  stripe: Stripe,
  request: ProviderRequest,
  options: CallOptions,
  clock: Clock,
): Promise<ProviderOutcome> {
  const keyIsKnown = clock.now() - request.requestedSince < keyLifeMilliseconds
  const paid = keyIsKnown ? undefined : await findPayout(stripe, request, options)
  return paid ? outcomeOf(paid, true) : create(stripe, request, options)
}

async function create(
  stripe: Stripe,
  request: ProviderRequest,
  options: CallOptions,
): Promise<ProviderOutcome> {
  const { account, chargeId, amount, refundId } = request
  const refund = await stripe.refunds.create(
    { charge: chargeId, amount, metadata: { [metadataName]: refundId } },
    { stripeAccount: account, idempotencyKey: `refund-${refundId}`, ...options },
  )
  // The type is an object, but this client returns a Headers.
  const headers = new Headers(refund.lastResponse.headers)
  return outcomeOf(refund, headers.get('idempotent-replayed') === 'true')
}

/** Returns the payout of a refund, found by its metadata. */
async function findPayout(
  stripe: Stripe,
  { account, chargeId, refundId }: ProviderRequest,
  options: CallOptions,
): Promise<Stripe.Refund | undefined> {
  const ofCharge = stripe.refunds.list(
    { charge: chargeId, limit: 100 },
    { stripeAccount: account, ...options },
  )
  for await (const refund of ofCharge) if (refund.metadata?.[metadataName] === refundId) return refund
  return undefined
}

function outcomeOf({ id, status, currency }: Stripe.Refund, replayed: boolean): ProviderOutcome {
  switch (status) {
    case 'succeeded':
    case 'pending':
    case 'requires_action':
      return {
        status: status === 'succeeded' ? 'succeeded' : 'pending',
        providerRefundId: id,
        currency: currency?.toUpperCase(),
        replayed,
      }
    case 'failed':
    case 'canceled':
      return { status: 'rejected', reason: 'declined' }
    default:
      // The client treats JSON without an error as success, even a gateway's 5xx.
      throw new Stripe.errors.StripeAPIError({ message: 'the answer is no refund' })
  }
}

/** Returns whether the same request may succeed later. This includes an unknown outcome without a response. */
function isTransient(error: StripeError): boolean {
  const { statusCode, code = '' } = error
  if (statusCode === undefined || statusCode >= 500) return true
  if (statusCode === 409) return underWay.has(code)
  return error instanceof Stripe.errors.StripeRateLimitError
}

/**
 * Returns the outcome of a final 4xx response.
 * @throws DEPENDENCY.unavailable when Stripe rejected the service's credentials, not the request
 */
function refused(error: StripeError): ProviderOutcome {
  const { statusCode, rawType, code = '', param, message } = error
  if (rawType === 'idempotency_error')
    throw new Error('a key of the payment provider stands for another refund')
  if (noSuchCharge.has(code)) return { status: 'rejected', reason: 'no_such_charge' }
  if (statusCode === 401 || statusCode === 403)
    throw fail('DEPENDENCY.unavailable', { cause: causeOf(error) })
  // Stripe sends no code if the charge was partly refunded.
  if (exceedsCharge.has(code) || (param === 'amount' && /is greater than/.test(message))) {
    return { status: 'rejected', reason: 'exceeds_charge' }
  }
  return { status: 'rejected', reason: 'declined' }
}

/** Returns the delay before an attempt in milliseconds; undefined if there is none. Attempt 0 is the first. */
function delayBefore(attempt: number, error: StripeError, left: number, clock: Clock): number | undefined {
  const range = delays[attempt - 1]
  if (!range) return undefined
  const [least, most] = range
  const drawn = least + clock.jitter() * (most - least)
  const requested = retryAfter(error)
  return requested < left && requested <= longestDelayMilliseconds ? Math.max(drawn, requested) : drawn
}

/** Returns the delay of Retry-After, in milliseconds. */
function retryAfter({ statusCode, headers }: StripeError): number {
  if (statusCode !== 429 && statusCode !== 503) return 0
  return Number(headers?.['retry-after'] ?? 0) * 1000 || 0
}

function failureOf({ detail }: StripeError): 'DEPENDENCY.timeout' | 'DEPENDENCY.unavailable' {
  const timedOut = typeof detail === 'object' && 'code' in detail && detail.code === 'ETIMEDOUT'
  return timedOut ? 'DEPENDENCY.timeout' : 'DEPENDENCY.unavailable'
}

/** Returns a safe form of an error. Stripe's own holds headers and bodies, and may quote the key. */
function causeOf({ type, statusCode, code, requestId }: StripeError): Error {
  const cause = new Error([statusCode ?? 'no answer', code, requestId].filter(Boolean).join(' '))
  cause.name = type
  return cause
}
