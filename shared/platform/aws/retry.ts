import type { Budget, Clock } from '../base/clock.ts'
import { Failure, fail } from '../base/failure.ts'

/** Enough for a burst of a hundred transactions on one item; the budget usually ends a retry first. */
const maxAttempts = 12
/** Further attempts against a throttle only add to the load that causes it. */
export const maxThrottled = 3
/** A request that hangs is aborted, and sent again. */
export const attemptMilliseconds = 3000
const firstDelayMilliseconds = 25
const maxDelayMilliseconds = 400

/** Errors of concurrent requests, and of requests without a response, by name or code. Every 5xx response counts, too. */
const transient = new Set([
  'TransactionConflictException',
  'TransactionInProgressException',
  'TransactionConflict',
  'TimeoutError',
  'ECONNRESET',
  'ECONNREFUSED',
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'ENOTFOUND',
])
const throttles = new Set([
  'ProvisionedThroughputExceededException',
  'ThrottlingException',
  'RequestLimitExceeded',
  'ThrottlingError',
  'ProvisionedThroughputExceeded',
])

interface ServiceError {
  name?: string
  code?: string
  $metadata?: { httpStatusCode?: number }
  CancellationReasons?: { Code?: string; Item?: unknown }[]
}

/** Returns why the same call may succeed later: it was throttled, or it met another one or lost its response. */
function transienceOf(thrown: unknown): 'throttled' | 'passing' | undefined {
  const error = thrown as ServiceError
  const codes = error.name === 'TransactionCanceledException' ? reasonsOf(error) : [error.name, error.code]
  if (codes.some((code) => throttles.has(code ?? ''))) return 'throttled'
  if (codes.some((code) => transient.has(code ?? ''))) return 'passing'
  return (error.$metadata?.httpStatusCode ?? 0) >= 500 ? 'passing' : undefined
}

/**
 * Returns why a transaction was canceled. A condition may have failed only because the conflicting request is a
 * duplicate of this one. A failed condition of the first item, which is the idempotency record if there is one, is
 * conclusive.
 */
function reasonsOf({ CancellationReasons: reasons = [] }: ServiceError): (string | undefined)[] {
  const codes = reasons.map(({ Code }) => Code)
  return codes[0] === 'ConditionalCheckFailed' ? [] : codes
}

/**
 * Retries a call until it succeeds, fails permanently or the budget is spent, at most twice after throttles.
 * @param call receives the time limit of the attempt, in milliseconds
 * @throws DEPENDENCY.timeout if the budget is spent, DEPENDENCY.unavailable if the table stays busy
 */
export async function retry<T>(
  call: (milliseconds: number) => Promise<T>,
  clock: Clock,
  budget: Budget,
): Promise<T> {
  let throttled = 0
  for (let attempt = 1; ; attempt += 1) {
    budget.check()
    try {
      // A timer may end a millisecond early. The budget must be spent when the timer of its rest has ended.
      return await call(Math.min(attemptMilliseconds, budget.remaining() + 1))
    } catch (thrown) {
      if (thrown instanceof Failure) throw thrown
      if (budget.remaining() === 0) throw fail('DEPENDENCY.timeout', { cause: thrown })
      const transience = transienceOf(thrown)
      if (!transience) throw thrown
      if (transience === 'throttled') throttled += 1
      const isLast = attempt === maxAttempts || throttled === maxThrottled
      if (isLast) throw fail('DEPENDENCY.unavailable', { cause: thrown })
      await pause(clock, budget, attempt, thrown)
    }
  }
}

/**
 * Waits before the next attempt: exponential backoff with full jitter.
 * @throws DEPENDENCY.timeout if nothing of the budget would be left
 */
export async function pause(clock: Clock, budget: Budget, attempt: number, cause?: unknown): Promise<void> {
  const ceiling = Math.min(maxDelayMilliseconds, firstDelayMilliseconds * 2 ** (attempt - 1))
  const delay = clock.jitter() * ceiling
  if (delay >= budget.remaining()) throw fail('DEPENDENCY.timeout', { cause })
  await clock.sleep(delay)
}
