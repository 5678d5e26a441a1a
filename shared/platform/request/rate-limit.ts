import { createHash } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { type Details, type Failure, fail } from '../base/failure.ts'
import { keyedHash } from '../base/secrets.ts'
import type { Outcome } from '../idempotency/run-once.ts'
import { principalOf } from '../identity/caller.ts'
import type { Item, Key } from '../table/keys.ts'
import type { Put, Table, Update } from '../table/table.ts'
import type { RequestContext } from './context.ts'
import type { Input } from './endpoint.ts'
import type { RateLimit, Route } from './route.ts'

/** A request that its counters admitted. */
export interface CountedRequest {
  /**
   * Counts a failure in the counters of failures, and removes a replay from the counters of requests. This is best
   * effort: it never fails the request.
   */
  settle(outcome: Outcome): Promise<void>
}

/** Returns whether requests of the route are counted. */
export function isThrottled({ endpoint, settings }: RequestContext): boolean {
  const { operation, throttle } = endpoint.route
  return throttle !== undefined || settings['limits.other'][operation] !== undefined
}

/**
 * Counts a request by all limits of its route: those of the route and those of the setting limits.other. Counters of
 * failures only have to have room now; a failure is counted once it is known, so that successes write nothing.
 * @throws RATE_LIMIT.exceeded; the request is then counted nowhere
 */
export async function countRequest(
  context: RequestContext,
  input: Pick<Input, 'body'>,
): Promise<CountedRequest> {
  const { table, clock, endpoint } = context
  const counters = [...(await limitedByDeployment(context)), ...(await limitedByRoute(context, input))]
  const ofFailures = counters.filter(({ counts }) => counts === 'failures')
  const ofRequests = counters.filter(({ counts }) => counts !== 'failures')
  await checkRoom(ofFailures, table, clock)
  const countedAt = await countIn(ofRequests, table, clock)
  return {
    async settle(outcome) {
      // A request that used up its time is a guess like any other.
      const table = context.tableWithin(settleMilliseconds)
      const isReplay = outcome.status === 'replayed'
      const isFailure = ofFailures.length > 0 && !isReplay && hasFailed(outcome, endpoint.route)
      const changes = [
        ...(isReplay ? ofRequests.map((counter) => uncountRequest(counter, countedAt, table, clock)) : []),
        ...(isFailure ? ofFailures.map((counter) => countIn([counter], table, clock)) : []),
      ]
      await Promise.allSettled(changes)
    },
  }
}

/** Returns whether a request failed by its caller's fault. A fault of the service and a retryable error are no guesses. */
function hasFailed({ response: { status, body }, failure }: Outcome, { isFailure }: Route): boolean {
  if (status >= 400) return status < 500 && failure?.retryable !== true
  return body !== undefined && (isFailure?.(JSON.parse(body)) ?? false)
}

async function limitedByDeployment(context: RequestContext): Promise<Counter[]> {
  const { endpoint, caller, scope, source, settings, derivedKey, clock } = context
  const { operation } = endpoint.route
  const limits = settings['limits.other'][operation] ?? []
  const tenant = caller?.tenant ?? scope.tenant
  const counters = limits.map(async ({ per, ...limit }): Promise<Counter> => {
    if (per === 'principal') return { ...limit, subject: [operation, tenant, principalOf(caller)] }
    if (per === 'source') {
      const hash = keyedHash(await derivedKey('throttles v1'), source)
      return { ...limit, subject: [operation, tenant, 'source', hash] }
    }
    // All of a tenant's callers share this window: its parts keep a busy one from being a hot item.
    const parts = Math.ceil(limit.limit / maxInPart)
    const part = Math.floor(clock.jitter() * parts)
    const subject = [operation, tenant, 'tenant', String(part)]
    return { ...limit, limit: Math.ceil(limit.limit / parts), subject }
  })
  return Promise.all(counters)
}

/**
 * Hashes addresses and e-mails with a key of the deployment, because a plain hash of them can be reversed by trial.
 */
async function limitedByRoute(
  { endpoint, source, derivedKey, settings }: RequestContext,
  { body }: Pick<Input, 'body'>,
): Promise<Counter[]> {
  const { operation, throttle } = endpoint.route
  if (!throttle) return []
  const key = await derivedKey('throttles v1')
  const fields = body as Readonly<Record<string, unknown>>
  return throttle(settings).map(({ by, shared = operation, ...limit }) => {
    const values = by.map((one) => String(one === 'source' ? source : fields[one.slice('body.'.length)]))
    return { ...limit, subject: [shared, keyedHash(key, ...values)] }
  })
}

/** A limit and its subject. */
export interface Counter extends RateLimit {
  /** Only its hash is stored. */
  subject: readonly string[]
}

/** The time limit of the counting after a request, below the function's remaining time. */
const settleMilliseconds = 300
/** The most times in one part of a tenant's window: about one read unit. */
const maxInPart = 200
/** A round is lost only to a concurrent request that was admitted or that made room. */
const maxRounds = 12
const maxPauseMilliseconds = 100

/** @throws RATE_LIMIT.exceeded if one of the counters is full, with the longest wait of those that are */
async function checkRoom(counters: readonly Counter[], table: Table, clock: Clock): Promise<void> {
  const windows = await readWindows(counters, table)
  const now = clock.now()
  const waits = counters.map((counter, index) => waitOf(counter, windows[index], now))
  const longest = Math.max(0, ...waits)
  if (longest > 0)
    throw refused(
      longest,
      counters.filter((_, index) => waits[index]),
    )
}

/**
 * Counts a request in all counters, or rejects it. The sliding windows store the times of admitted requests. A counter
 * costs one write, which appends the time while the window has room: concurrent requests neither conflict nor exceed
 * the limit. Only a window that is full of old times costs another write. A write whose response was lost may count a
 * request twice.
 * @returns the time at which it was counted, in milliseconds since 1970
 * @throws RATE_LIMIT.exceeded with the seconds until a request would be admitted; it is then counted nowhere
 */
export async function countIn(counters: readonly Counter[], table: Table, clock: Clock): Promise<number> {
  const now = clock.now()
  const admitted: Counter[] = []
  // The smallest limit comes first: a flood that it rejects is not counted by the others before.
  for (const counter of counters.toSorted((one, other) => one.limit - other.limit)) {
    const wait = await admit(counter, now, table, clock)
    if (wait > 0) {
      await Promise.allSettled(admitted.map((one) => uncountRequest(one, now, table, clock)))
      if (counters.length > 1) await checkRoom(counters, table, clock)
      throw refused(wait, [counter])
    }
    admitted.push(counter)
  }
  return now
}

/** Counts an event in one window. @returns whether it had room */
export async function hasRoom(counter: Counter, table: Table, clock: Clock): Promise<boolean> {
  return (await admit(counter, clock.now(), table, clock)) === 0
}

/** Counts a request in one window. @returns 0, or the milliseconds until a request would be admitted */
async function admit(counter: Counter, now: number, table: Table, clock: Clock): Promise<number> {
  let refusal = await table.update(appended(counter, now))
  for (let round = 1; refusal; round += 1) {
    const window = refusal.existing
    const wait = waitOf(counter, window, now)
    if (wait > 0) return wait
    if (round === maxRounds) return 1
    if (round > 1) await clock.sleep(clock.jitter() * maxPauseMilliseconds)
    const hasRoom = timesOf(window).length < counter.limit
    refusal = hasRoom
      ? await table.update(appended(counter, now))
      : await table.put(replaced(window, { times: [...recent(counter, window, now), now] }))
  }
  return 0
}

function appended(counter: Counter, now: number): Update {
  return {
    update: keyOf(counter),
    append: { times: [now] },
    increment: ['version'],
    set: { expires_at: Math.ceil(now / 1000) + counter.windowSeconds },
    condition: { absentOrShorter: { attribute: 'times', length: counter.limit } },
  }
}

/** Replaces a window if it has not changed since it was read. */
function replaced(window: Item | undefined, changes: { times: number[] }): Put {
  if (!window) throw new Error('an absent window has room')
  const version = Number(window.version)
  return { item: { ...window, ...changes, version: version + 1 }, condition: { matches: { version } } }
}

/** Removes a request from a window. @param countedAt the result of `countIn` */
export async function uncountRequest(
  counter: Pick<Counter, 'subject'>,
  countedAt: number,
  table: Table,
  clock: Clock,
): Promise<void> {
  let window = await table.get(keyOf(counter))
  for (let round = 0; round < maxRounds; round += 1) {
    const times = timesOf(window)
    const index = times.indexOf(countedAt)
    if (index < 0) return
    const refusal = await table.put(replaced(window, { times: times.toSpliced(index, 1) }))
    if (!refusal) return
    window = refusal.existing
    await clock.sleep(clock.jitter() * maxPauseMilliseconds)
  }
}

async function readWindows(counters: readonly Counter[], table: Table): Promise<(Item | undefined)[]> {
  const keys = counters.map(keyOf)
  const [first, ...others] = keys
  if (first && others.length === 0) return [await table.get(first)]
  const found = keys.length > 0 ? await table.getMany(keys) : []
  return keys.map(({ pk }) => found.find((item) => item.pk === pk))
}

/** Returns the milliseconds until a window has room; 0 if it has. */
function waitOf(counter: Counter, window: Item | undefined, now: number): number {
  const first = recent(counter, window, now).at(-counter.limit)
  return first === undefined ? 0 : first + counter.windowSeconds * 1000 - now
}

function refused(milliseconds: number, full: readonly Counter[]): Failure {
  const retryAfterSeconds = Math.ceil(milliseconds / 1000)
  return fail('RATE_LIMIT.exceeded', { retryAfterSeconds, details: detailsOf(full) })
}

function detailsOf(counters: readonly Counter[]): Details {
  return Object.assign({}, ...counters.map(({ details }) => details))
}

/** Returns the times in the window, in order: concurrent requests may be stored in another one. */
function recent({ windowSeconds }: Counter, window: Item | undefined, now: number): number[] {
  return timesOf(window)
    .filter((at) => at > now - windowSeconds * 1000)
    .toSorted((one, other) => one - other)
}

function timesOf(item: Item | undefined): number[] {
  return (item?.times ?? []) as number[]
}

function keyOf({ subject }: Pick<Counter, 'subject'>): Key {
  const hash = createHash('sha256').update(JSON.stringify(subject)).digest('base64url')
  return { pk: `rate#${hash}`, sk: 'window' }
}
