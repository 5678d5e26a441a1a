import type { Budget, Clock } from '../base/clock.ts'
import { Failure, fail } from '../base/failure.ts'
import type { TableAccess } from '../table/table.ts'

/** Enough for a burst of a hundred transactions on one item; the budget usually ends a retry first. */
const maxAttempts = 12
/** Further attempts against a throttle only add to the load that causes it. */
export const maxThrottled = 3
/** A request that hangs is aborted, and sent again. */
export const attemptMilliseconds = 3000
const firstDelayMilliseconds = 25
const maxDelayMilliseconds = 400
/** The half-life of the calls that a process remembers of a throttled partition. */
const halfLifeMilliseconds = 1200
/** The throttled partitions that a process remembers. */
const maxPressures = 1000

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
 * Returns the capacities that throttled a call. A canceled transaction has a reason for each of its changes; any other
 * call is throttled as a whole.
 */
function throttledBy(thrown: unknown, capacities: readonly string[]): readonly string[] {
  const { name, CancellationReasons: reasons = [] } = thrown as ServiceError
  if (name !== 'TransactionCanceledException') return capacities
  return capacities.filter((_, index) => throttles.has(reasons[index]?.Code ?? ''))
}

/** Recent calls on a capacity that has throttled; both numbers are halved every 1,200 ms. */
interface Pressure {
  admitted: number
  /** Throttled by DynamoDB, or shed here. */
  refused: number
  /** Milliseconds since 1970. */
  at: number
}

/** The pressures of each process, by capacity. A simulated process has its own clock. */
const pressures = new WeakMap<Clock, Map<string, Pressure>>()

/** Returns the pressure on a capacity now; undefined if it has not throttled. */
function pressureOn(capacity: string, clock: Clock): Pressure | undefined {
  const pressure = pressures.get(clock)?.get(capacity)
  if (!pressure) return undefined
  const now = clock.now()
  const rest = 0.5 ** (Math.max(0, now - pressure.at) / halfLifeMilliseconds)
  return Object.assign(pressure, {
    admitted: pressure.admitted * rest,
    refused: pressure.refused * rest,
    at: now,
  })
}

function countAdmitted(capacities: readonly string[], clock: Clock): void {
  for (const capacity of new Set(capacities)) {
    const pressure = pressureOn(capacity, clock)
    if (pressure) pressure.admitted += 1
  }
}

function countRefused(capacities: readonly string[], clock: Clock): void {
  const known = pressures.get(clock) ?? new Map<string, Pressure>()
  pressures.set(clock, known)
  for (const capacity of new Set(capacities)) {
    const pressure = pressureOn(capacity, clock) ?? { admitted: 0, refused: 0, at: clock.now() }
    pressure.refused += 1
    known.delete(capacity)
    known.set(capacity, pressure)
  }
  // A map keeps the order of insertion: what throttled longest ago comes first.
  for (const oldest of known.keys()) {
    if (known.size <= maxPressures) break
    known.delete(oldest)
  }
}

/**
 * Client-side throttling, as in chapter 21 of Google's SRE book: a process sends about twice as many calls as a throttled
 * capacity admits, and sheds the others. Only a capacity that throttled itself sheds calls, and a call counts as refused
 * only where it was: no tenant's load sheds calls on another capacity.
 * @throws DEPENDENCY.unavailable, at random, if a capacity refused too many of the recent calls
 */
function shed(capacities: readonly string[], clock: Clock): void {
  for (const capacity of new Set(capacities)) {
    const { admitted = 0, refused = 0 } = pressureOn(capacity, clock) ?? {}
    const calls = admitted + refused
    const excess = calls - 2 * (admitted + 1)
    if (excess <= 0 || clock.jitter() >= excess / (calls + 1)) continue
    countRefused([capacity], clock)
    throw fail('DEPENDENCY.unavailable')
  }
}

/**
 * Retries a call until it succeeds, fails permanently or the budget is spent, at most twice after throttles.
 * @param call receives the time limit of the attempt, in milliseconds
 * @param capacities those that the call uses; for a transaction, that of each change, in order
 * @throws DEPENDENCY.timeout if the budget is spent, DEPENDENCY.unavailable if the table stays busy or a sheddable call
 * is shed
 */
export async function retry<T>(
  call: (milliseconds: number) => Promise<T>,
  capacities: readonly string[],
  { clock, budget, criticality }: TableAccess,
): Promise<T> {
  let throttled = 0
  for (let attempt = 1; ; attempt += 1) {
    budget.check()
    if (criticality === 'sheddable') shed(capacities, clock)
    try {
      // A timer may end a millisecond early. The budget must be spent when the timer of its rest has ended.
      const result = await call(Math.min(attemptMilliseconds, budget.remaining() + 1))
      countAdmitted(capacities, clock)
      return result
    } catch (thrown) {
      if (thrown instanceof Failure) throw thrown
      const transience = transienceOf(thrown)
      if (transience === 'throttled') countRefused(throttledBy(thrown, capacities), clock)
      if (budget.remaining() === 0) throw fail('DEPENDENCY.timeout', { cause: thrown })
      // A failed condition is a call that the table admitted.
      if (!transience) countAdmitted(capacities, clock)
      if (!transience) throw thrown
      if (transience === 'throttled') throttled += 1
      const isLast = attempt === maxAttempts || throttled === maxThrottled
      if (isLast) throw fail('DEPENDENCY.unavailable', { cause: thrown })
      await waitBeforeRetry(clock, budget, attempt, thrown)
    }
  }
}

/**
 * Waits before the next attempt: exponential backoff with full jitter.
 * @throws DEPENDENCY.timeout if nothing of the budget would be left
 */
export async function waitBeforeRetry(
  clock: Clock,
  budget: Budget,
  attempt: number,
  cause?: unknown,
): Promise<void> {
  const ceiling = Math.min(maxDelayMilliseconds, firstDelayMilliseconds * 2 ** (attempt - 1))
  const delay = clock.jitter() * ceiling
  if (delay >= budget.remaining()) throw fail('DEPENDENCY.timeout', { cause })
  await clock.sleep(delay)
}
