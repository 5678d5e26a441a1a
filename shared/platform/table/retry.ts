import type { Clock } from '../clock.ts'
import { Failure, fail } from '../errors/failure.ts'
import type { Budget } from '../limits/budget.ts'

/** Enough for a burst of a hundred transactions on one item; the budget usually ends a retry first. */
const maxAttempts = 12
/** A connection that hangs is given up, so that another can be tried. */
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

/** True when the same call may succeed later: the table was busy, or its answer was lost. */
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
 * A cancelled transaction is worth another try when contention had a part in it: the item that was refused may have
 * been refused only because the request in the way is this one's twin. A refusal of the first item, which is the
 * idempotency record where there is one, tells all there is to know.
 */
function isConflict(error: ServiceError): boolean {
  const [first, ...others] = (error.CancellationReasons ?? []).map((reason) => reason.Code ?? 'None')
  return first !== 'ConditionalCheckFailed' && [first, ...others].some((code) => contention.has(code ?? ''))
}

/**
 * Calls until it succeeds, fails for good or the budget is spent.
 * @throws DEPENDENCY.timeout when the budget ended it, DEPENDENCY.unavailable when the table stayed busy
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
 * @throws DEPENDENCY.timeout when nothing of the budget would be left
 */
export async function pause(clock: Clock, budget: Budget, attempt: number, cause?: unknown): Promise<void> {
  const ceiling = Math.min(longestDelayMilliseconds, firstDelayMilliseconds * 2 ** (attempt - 1))
  const delay = clock.jitter() * ceiling
  if (delay >= budget.remaining()) throw fail('DEPENDENCY.timeout', { cause })
  await clock.sleep(delay)
}
