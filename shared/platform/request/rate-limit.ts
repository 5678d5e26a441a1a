import { keyedHash } from '../base/secrets.ts'
import type { Outcome } from '../idempotency/run-once.ts'
import { principalOf } from '../identity/caller.ts'
import { type Counter, checkRoom, countIn, uncountRequest } from '../table/window.ts'
import type { RequestContext } from './context.ts'
import type { Input } from './endpoint.ts'
import type { RateLimit, Route } from './route.ts'

type Context = Pick<
  RequestContext,
  'route' | 'caller' | 'scope' | 'source' | 'settings' | 'derivedKey' | 'clock' | 'table' | 'tableWithin'
>

/** The time limit of the counting after a request, below the function's remaining time. */
const settleMilliseconds = 300
/** The most requests in one part of a tenant's window: as many writes as one item takes in a second. */
const maxInPart = 1000

/** What counters need to know of an outcome. */
type CountedOutcome = Pick<Outcome, 'status' | 'failure'> & { response: Pick<Outcome['response'], 'body'> }

/** A request that its counters admitted. */
export interface CountedRequest {
  /**
   * Counts a failure in the counters of failures, and removes a replay from the counters of requests. This is best
   * effort: it never fails the request.
   */
  countOutcome(outcome: CountedOutcome): Promise<void>
}

/** A limit of a request, with its subject. */
type CountedLimit = Counter & RateLimit

/** Returns whether requests of the route are counted. */
export function hasRateLimits({ route, settings }: Pick<Context, 'route' | 'settings'>): boolean {
  const { operation, throttle } = route
  return throttle !== undefined || settings['limits.other'][operation] !== undefined
}

/**
 * Counts a request by all limits of its route: those of the route and those of the setting limits.other. Counters of
 * failures only have to have room now; a failure is counted once it is known, so that successes write nothing.
 * @throws RATE_LIMIT.exceeded; the request is then counted nowhere
 */
export async function countRequest(context: Context, input: Pick<Input, 'body'>): Promise<CountedRequest> {
  const { table, clock, route } = context
  const counters = [...(await limitedByDeployment(context)), ...(await limitedByRoute(context, input))]
  const ofFailures = counters.filter(({ counts }) => counts === 'failures')
  const ofRequests = counters.filter(({ counts }) => counts !== 'failures')
  await checkRoom(ofFailures, table, clock)
  const countedAt = await countIn(ofRequests, table, clock)
  return {
    async countOutcome(outcome) {
      // A request that used up its time is a guess like any other.
      const table = context.tableWithin(settleMilliseconds)
      if (outcome.status === 'replayed')
        await Promise.allSettled(
          ofRequests.map((counter) => uncountRequest(counter, countedAt, table, clock)),
        )
      else if (hasFailed(outcome, route))
        await Promise.allSettled(ofFailures.map((counter) => countIn([counter], table, clock)))
    },
  }
}

/** Returns whether a request failed by its caller's fault. A fault of the service and a retryable error are no guesses. */
function hasFailed(
  { response: { body }, failure }: CountedOutcome,
  { isFailure, errors = [] }: Route,
): boolean {
  const isUncounted = errors.some(
    (one) => typeof one !== 'string' && one.uncounted && one.code === failure?.code,
  )
  if (failure) return failure.http < 500 && !failure.retryable && !isUncounted
  return body !== undefined && (isFailure?.(JSON.parse(body)) ?? false)
}

async function limitedByDeployment(context: Omit<Context, 'table' | 'tableWithin'>): Promise<CountedLimit[]> {
  const { route, caller, scope, source, settings, derivedKey, clock } = context
  const { operation } = route
  const limits = settings['limits.other'][operation] ?? []
  const tenant = caller?.tenant ?? scope.tenant
  const counters = limits.map(async ({ per, ...configured }): Promise<CountedLimit> => {
    const { counts, windowSeconds } = configured
    // Anonymous callers learn no limit: it would tell them how fast they may guess.
    const details = { reason: counts, per, max: configured.limit, window_seconds: windowSeconds }
    const limit = { ...configured, ...(route.auth !== 'none' && { details }) }
    // Two limits may be of one kind: a short and a long window, or requests and failures.
    const subjectOf = (one: string) => [operation, tenant, per, counts, String(windowSeconds), one]
    if (per === 'principal') return { ...limit, subject: subjectOf(principalOf(caller)) }
    if (per === 'source') {
      const hash = keyedHash(await derivedKey('hashes'), 'throttle', source)
      return { ...limit, subject: subjectOf(hash) }
    }
    // All of a tenant's callers share this window: its parts keep a busy one from being a hot item.
    const parts = Math.ceil(limit.limit / maxInPart)
    const part = Math.floor(clock.jitter() * parts)
    return { ...limit, limit: Math.ceil(limit.limit / parts), subject: subjectOf(String(part)) }
  })
  return Promise.all(counters)
}

/**
 * Hashes addresses and e-mails with a key of the deployment, because a plain hash of them can be reversed by trial.
 */
async function limitedByRoute(
  {
    route,
    source,
    derivedKey,
    settings,
  }: Pick<RequestContext, 'route' | 'source' | 'derivedKey' | 'settings'>,
  { body }: Pick<Input, 'body'>,
): Promise<CountedLimit[]> {
  const { operation, throttle } = route
  if (!throttle) return []
  const key = await derivedKey('hashes')
  const fields = body as Readonly<Record<string, unknown>>
  return throttle(settings).map(({ by, shared = operation, ...limit }) => {
    const values = by.map((one) => String(one === 'source' ? source : fields[one.slice('body.'.length)]))
    return { ...limit, subject: [shared, keyedHash(key, 'throttle', ...values)] }
  })
}
