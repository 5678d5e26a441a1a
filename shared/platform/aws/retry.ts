import type { Budget, Clock } from '../base/clock.ts'
import { Failure, fail } from '../base/failure.ts'

/** Enough for a burst of a hundred transactions on one item; the budget usually ends a retry first. */
const maxAttempts = 12
/** A connection that hangs is aborted, and another is tried. */
const attemptMilliseconds = 3000
const firstDelayMilliseconds = 25
const longestDelayMilliseconds = 400

const busy = new Set([
  'ProvisionedThroughputExceededException',
  'ThrottlingException',
  'RequestLimitExceeded',
  'TransactionConflictException',
  'TransactionInProgressException',
  'InternalServerError',
  'ServiceUnavailable',
  'ServiceUnavailableException',
  'TimeoutError',
  'AbortError',
  'NetworkingError',
])
const brokenConnection = new Set([
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
  message?: string
  $metadata?: { httpStatusCode?: number }
  CancellationReasons?: { Code?: string; Item?: unknown }[]
}

/** Returns whether the same call may succeed later: the table was busy, or its response was lost. */
export function isTransient(thrown: unknown): boolean {
  const error = thrown as ServiceError
  if (error?.name === 'TransactionCanceledException') return isConflict(error)
  return (
    busy.has(error?.name ?? '') ||
    brokenConnection.has(error?.code ?? '') ||
    error?.message === 'socket hang up' ||
    (error?.$metadata?.httpStatusCode ?? 0) >= 500
  )
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
 * @throws DEPENDENCY.timeout if the budget is spent, DEPENDENCY.unavailable if the table stays busy
 */
export async function retry<T>(
  call: (signal: AbortSignal) => Promise<T>,
  clock: Clock,
  budget: Budget,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    budget.check()
    try {
      return await call(AbortSignal.any([budget.signal, AbortSignal.timeout(attemptMilliseconds)]))
    } catch (thrown) {
      if (thrown instanceof Failure) throw thrown
      if (budget.signal.aborted) throw fail('DEPENDENCY.timeout', { cause: thrown })
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
