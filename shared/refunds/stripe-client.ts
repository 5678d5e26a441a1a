import Stripe from 'stripe'
import type { Budget, Clock } from '../platform/base/clock.ts'
import type { TraceContext } from '../platform/base/correlation.ts'
import { type Failure, fail } from '../platform/base/failure.ts'

/** The delay before the second and each further attempt, in milliseconds, uniformly distributed in a range. */
const delays = [
  [100, 200],
  [200, 400],
  [400, 800],
  [800, 1600],
] as const
const maxDelayMilliseconds = 2000
/** The limit of all attempts and delays together. */
const wholeMilliseconds = 10_000

/** Codes of a 409 while another request holds the key or the charge; some have no code. */
const underWay = new Set(['', 'idempotency_key_in_use', 'lock_timeout'])

export type CallOptions = Pick<Stripe.RequestOptions, 'timeout' | 'headers'>
export type StripeError = InstanceType<typeof Stripe.errors.StripeError>

export interface StripeOptions {
  apiKey: string
  /** A URL, of which scheme, host and port are used. */
  endpoint: string
  /** The time limit of one attempt, from connecting to the end of the response. */
  attemptMilliseconds: number
  /** The trace headers of the calls. */
  trace?: TraceContext
  clock: Clock
}

export function stripeClient({ apiKey, endpoint }: StripeOptions): Stripe {
  const { hostname, port, protocol } = new URL(endpoint)
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
export function remainingTime(budget: Budget, clock: Clock): () => number {
  const deadline = clock.now() + wholeMilliseconds
  return () => Math.floor(Math.min(budget.remaining(), deadline - clock.now()))
}

/**
 * Repeats a call until its answer is final.
 * @throws StripeError for a final error; DEPENDENCY.timeout, DEPENDENCY.unavailable after the last attempt
 */
export async function withRetries<Result>(
  { attemptMilliseconds, clock, trace = {} }: StripeOptions,
  remaining: () => number,
  call: (options: CallOptions) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    const timeout = Math.min(attemptMilliseconds, remaining())
    if (timeout < 1) throw fail('DEPENDENCY.timeout')
    try {
      return await call({ timeout, headers: { ...trace } })
    } catch (thrown) {
      if (!(thrown instanceof Stripe.errors.StripeError) || !isTransient(thrown)) throw thrown
      const delay = delayAfter(attempt, thrown, remaining(), clock)
      if (delay === undefined) throw fail(failureOf(thrown), { cause: causeOf(thrown) })
      if (delay >= remaining()) throw fail('DEPENDENCY.timeout', { cause: causeOf(thrown) })
      await clock.sleep(delay)
    }
  }
}

/**
 * Reads from Stripe. Whatever it refuses says nothing about a refund.
 * @throws DEPENDENCY.timeout, DEPENDENCY.unavailable
 */
export async function readWithRetries<Result>(
  options: StripeOptions,
  budget: Budget,
  call: (options: CallOptions) => Promise<Result>,
): Promise<Result> {
  try {
    return await withRetries(options, remainingTime(budget, options.clock), call)
  } catch (thrown) {
    if (!(thrown instanceof Stripe.errors.StripeError)) throw thrown
    throw refusedCall(thrown)
  }
}

/** Returns the failure of a call that Stripe refuses. The owner of an account can end the access: no failure of the service. */
export function refusedCall(error: StripeError): Failure {
  return fail('DEPENDENCY.unavailable', {
    cause: causeOf(error),
    refusedByTenant: error.code === 'account_invalid',
  })
}

/** Returns undefined for what is absent at Stripe. @throws any other error */
export function absent(thrown: unknown): undefined {
  if (thrown instanceof Stripe.errors.StripeError && thrown.code === 'resource_missing') return undefined
  throw thrown
}

/** Returns whether the same request may succeed later. This includes an unknown outcome without a response. */
function isTransient(error: StripeError): boolean {
  const { statusCode, code = '' } = error
  if (statusCode === undefined || statusCode >= 500) return true
  if (statusCode === 409) return underWay.has(code)
  return error instanceof Stripe.errors.StripeRateLimitError
}

/** Returns the delay after a failed attempt, the first of which is 1, in milliseconds; undefined after the last. */
function delayAfter(attempt: number, error: StripeError, left: number, clock: Clock): number | undefined {
  const range = delays[attempt - 1]
  if (!range) return undefined
  const [least, most] = range
  const drawn = least + clock.jitter() * (most - least)
  const requested = stripeRetryAfter(error)
  return requested < left && requested <= maxDelayMilliseconds ? Math.max(drawn, requested) : drawn
}

/** Returns the delay of Retry-After, in milliseconds. */
function stripeRetryAfter({ statusCode, headers }: StripeError): number {
  if (statusCode !== 429 && statusCode !== 503) return 0
  return Number(headers?.['retry-after'] ?? 0) * 1000 || 0
}

function failureOf({ detail }: StripeError): 'DEPENDENCY.timeout' | 'DEPENDENCY.unavailable' {
  const timedOut = typeof detail === 'object' && 'code' in detail && detail.code === 'ETIMEDOUT'
  return timedOut ? 'DEPENDENCY.timeout' : 'DEPENDENCY.unavailable'
}

/** Returns a safe form of an error. Stripe's own holds headers and bodies, and may quote the key. */
export function causeOf({ type, statusCode, code, requestId }: StripeError): Error {
  const cause = new Error([statusCode ?? 'no answer', code, requestId].filter(Boolean).join(' '))
  cause.name = type
  return cause
}
