import Stripe from 'stripe'
import type { Clock } from '../platform/clock.ts'
import { fail } from '../platform/errors/failure.ts'
import type { TraceContext } from '../platform/http/correlation.ts'
import type { Budget } from '../platform/limits/budget.ts'
import type { PaymentProvider, ProviderOutcome, ProviderRequest } from './payment-provider.ts'

/** Milliseconds before the second and each further attempt, drawn evenly (contract, retry schedule). */
const delays = [
  [100, 200],
  [200, 400],
  [400, 800],
  [800, 1600],
] as const
const longestDelayMilliseconds = 2000
/** Stripe keeps a key for 24 hours at least. Later, it would be a new one, so that the payout is looked for first. */
const keyLifeMilliseconds = 20 * 3600 * 1000
/** All attempts and delays together. */
const wholeMilliseconds = 10_000

/** Codes of a 409 whose key, or charge, another request holds at this moment; some come without a code. */
const underWay = new Set(['', 'idempotency_key_in_use', 'lock_timeout'])
const noSuchCharge = new Set(['resource_missing', 'account_invalid'])
const exceedsCharge = new Set(['charge_already_refunded', 'amount_too_large'])

/** Under this name a payout at Stripe holds the refund's id. */
const metadataName = 'refund_id'

type CallOptions = Pick<Stripe.RequestOptions, 'timeout' | 'headers'>
type StripeError = InstanceType<typeof Stripe.errors.StripeError>

/** Refunds by Stripe's API, in the connected account that a request names. */
export function stripeProvider(options: {
  apiKey: string
  /** A URL, of which scheme, host and port count. */
  endpoint: string
  /** How long one attempt may take, from connecting to the end of the answer. */
  attemptMilliseconds: number
  /** Headers of the trace that the calls belong to. */
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
    // The client over node:http starts its time-out anew with each byte and leaves out connecting; and it sends a
    // request again by itself when its connection was closed, whatever maxNetworkRetries says.
    httpClient: Stripe.createFetchHttpClient(),
  })
}

/** What is left for all attempts together, in whole milliseconds. */
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
  const keyIsKnown = clock.now() - request.askedSince < keyLifeMilliseconds
  const paid = keyIsKnown ? undefined : await findPayout(stripe, request, options)
  return paid ? outcomeOf(paid, true) : create(stripe, request, options)
}

async function create(
  stripe: Stripe,
  request: ProviderRequest,
  options: CallOptions,
): Promise<ProviderOutcome> {
  const { account, chargeId, amount, refundId } = request
  const made = await stripe.refunds.create(
    { charge: chargeId, amount, metadata: { [metadataName]: refundId } },
    { stripeAccount: account, idempotencyKey: `refund-${refundId}`, ...options },
  )
  // Typed as an object, and with this client a Headers.
  const headers = new Headers(made.lastResponse.headers)
  return outcomeOf(made, headers.get('idempotent-replayed') === 'true')
}

/** What was paid for a refund, told by what it left with the payout. */
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
      return { status: 'refused', reason: 'declined' }
    default:
      // JSON without an error counts as success for the client, also that of a gateway with a 5xx.
      throw new Stripe.errors.StripeAPIError({ message: 'the answer is no refund' })
  }
}

/** True when the same request may succeed later; also where nobody knows what became of it, as no answer was read. */
function isTransient(error: StripeError): boolean {
  const { statusCode, code = '' } = error
  if (statusCode === undefined || statusCode >= 500) return true
  if (statusCode === 409) return underWay.has(code)
  return error instanceof Stripe.errors.StripeRateLimitError
}

/**
 * What an answer of 400 to 499 says for good.
 * @throws DEPENDENCY.unavailable when it is the service that was refused, and not its request
 */
function refused(error: StripeError): ProviderOutcome {
  const { statusCode, rawType, code = '', param, message } = error
  if (rawType === 'idempotency_error')
    throw new Error('a key of the payment provider stands for another refund')
  if (noSuchCharge.has(code)) return { status: 'refused', reason: 'no_such_charge' }
  if (statusCode === 401 || statusCode === 403)
    throw fail('DEPENDENCY.unavailable', { cause: causeOf(error) })
  // Stripe sends no code where the charge was refunded in part.
  if (exceedsCharge.has(code) || (param === 'amount' && /is greater than/.test(message))) {
    return { status: 'refused', reason: 'exceeds_charge' }
  }
  return { status: 'refused', reason: 'declined' }
}

/** Milliseconds to wait before an attempt, of which the first is 0; undefined when there is none. */
function delayBefore(attempt: number, error: StripeError, left: number, clock: Clock): number | undefined {
  const range = delays[attempt - 1]
  if (!range) return undefined
  const [least, most] = range
  const drawn = least + clock.jitter() * (most - least)
  const asked = retryAfter(error)
  return asked < left && asked <= longestDelayMilliseconds ? Math.max(drawn, asked) : drawn
}

/** How many milliseconds the provider asks to be left alone for. */
function retryAfter({ statusCode, headers }: StripeError): number {
  if (statusCode !== 429 && statusCode !== 503) return 0
  return Number(headers?.['retry-after'] ?? 0) * 1000 || 0
}

function failureOf({ detail }: StripeError): 'DEPENDENCY.timeout' | 'DEPENDENCY.unavailable' {
  const timedOut = typeof detail === 'object' && 'code' in detail && detail.code === 'ETIMEDOUT'
  return timedOut ? 'DEPENDENCY.timeout' : 'DEPENDENCY.unavailable'
}

/** What can be told of an error: Stripe's own holds headers and bodies, and may quote the key. */
function causeOf({ type, statusCode, code, requestId }: StripeError): Error {
  const cause = new Error([statusCode ?? 'no answer', code, requestId].filter(Boolean).join(' '))
  cause.name = type
  return cause
}
