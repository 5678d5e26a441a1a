import type { Budget, Clock } from '../base/clock.ts'
import { Failure, fail } from '../base/failure.ts'

/** Enough for a burst of a hundred transactions on one item; the budget usually ends a retry first. */
const maxAttempts = 12
/** A request that hangs is aborted, and sent again. */
export const attemptMilliseconds = 3000
const firstDelayMilliseconds = 25
const longestDelayMilliseconds = 400

/** Errors of a busy table, and of requests without a response, by name or code. Every 5xx response counts, too. */
const transient = new Set([
  'ProvisionedThroughputExceededException',
  'ThrottlingException',
  'RequestLimitExceeded',
  'TransactionConflictException',
  'TransactionInProgressException',
  'TimeoutError',
  'ECONNRESET',
  'ECONNREFUSED',
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'ENOTFOUND',
])
const contention = new Set(['TransactionConflict', 'ThrottlingError', 'ProvisionedThroughputExceeded'])

interface ServiceError {
  name?: string
  code?: string
  $metadata?: { httpStatusCode?: number }
  CancellationReasons?: { Code?: string; Item?: unknown }[]
}

/** Returns whether the same call may succeed later: the table was busy, or its response was lost. */
function isTransient(thrown: unknown): boolean {
  const error = thrown as ServiceError
  if (error.name === 'TransactionCanceledException') return isConflict(error)
  const isKnown = [error.name, error.code].some((one) => transient.has(one ?? ''))
  return isKnown || (error.$metadata?.httpStatusCode ?? 0) >= 500
}

/**
 * Returns whether a canceled transaction is retried: if contention was one of the reasons. A condition may have failed
 * only because the conflicting request is a duplicate of this one. A failed condition of the first item, which is the
 * idempotency record if there is one, is conclusive.
 */
function isConflict(error: ServiceError): boolean {
  const [first, ...others] = (error.CancellationReasons ?? []).map((reason) => reason.Code ?? 'None')
  return first !== 'ConditionalCheckFailed' && [first, ...others].some((code) => contention.has(code ?? ''))
}

/**
 * Retries a call until it succeeds, fails permanently or the budget is spent.
 * @param call receives the time limit of the attempt, in milliseconds
 * @throws DEPENDENCY.timeout if the budget is spent, DEPENDENCY.unavailable if the table stays busy
 */
export async function retry<T>(
  call: (milliseconds: number) => Promise<T>,
  clock: Clock,
  budget: Budget,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    budget.check()
    try {
      // A timer may end a millisecond early. The budget must be spent when the timer of its rest has ended.
      return await call(Math.min(attemptMilliseconds, budget.remaining() + 1))
    } catch (thrown) {
      if (thrown instanceof Failure) throw thrown
      if (budget.remaining() === 0) throw fail('DEPENDENCY.timeout', { cause: thrown })
      if (!isTransient(thrown)) throw thrown
      if (attempt === maxAttempts) throw fail('DEPENDENCY.unavailable', { cause: thrown })
      await pause(clock, budget, attempt, thrown)
    }
  }
}

/**
 * Waits before the next attempt: exponential backoff with full jitter.
 * @throws DEPENDENCY.timeout if nothing of the budget would be left
 */
export async function pause(clock: Clock, budget: Budget, attempt: number, cause?: unknown): Promise<void> {
  const ceiling = Math.min(longestDelayMilliseconds, firstDelayMilliseconds * 2 ** (attempt - 1))
  const delay = clock.jitter() * ceiling
  if (delay >= budget.remaining()) throw fail('DEPENDENCY.timeout', { cause })
  await clock.sleep(delay)
}
