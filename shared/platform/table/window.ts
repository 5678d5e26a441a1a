import { createHash } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { type Details, type Failure, fail } from '../base/failure.ts'
import type { Item, Key } from './keys.ts'
import type { Put, Table, Update } from './table.ts'

/** The maximum number of requests in any sliding window of this length. */
export interface WindowLimit {
  limit: number
  windowSeconds: number
  /** Added to the details of the error. */
  details?: Details
}

/** A limit and its subject. */
export interface Counter extends WindowLimit {
  /** Only its hash is stored. */
  subject: readonly string[]
}

/** A round is lost only to a concurrent request that was admitted or that made room. */
const maxRounds = 12
const maxPauseMilliseconds = 100

/** @throws RATE_LIMIT.exceeded if one of the counters is full, with the longest wait of those that are */
export async function checkRoom(counters: readonly Counter[], table: Table, clock: Clock): Promise<void> {
  const windows = await readWindows(counters, table)
  const now = clock.now()
  const waits = counters.map((counter, index) => waitOf(counter, windows[index], now))
  const longest = Math.max(0, ...waits)
  if (longest === 0) return
  const full = counters.map((counter, index) => ({ counter, wait: waits[index] ?? 0 }))
  // The last details win: those of the limit that the caller waits for.
  const ordered = full.filter(({ wait }) => wait > 0).toSorted((one, other) => one.wait - other.wait)
  throw refused(
    longest,
    ordered.map(({ counter }) => counter),
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
  // The smallest limit comes first: a flood that it rejects is not counted by the others before.
  const ordered = counters.toSorted((one, other) => one.limit - other.limit)
  for (const [index, counter] of ordered.entries()) {
    const wait = await admit(counter, now, table, clock)
    if (wait === 0) continue
    const admitted = ordered.slice(0, index)
    await Promise.allSettled(admitted.map((one) => uncountRequest(one, now, table, clock)))
    if (counters.length > 1) await checkRoom(counters, table, clock)
    throw refused(wait, [counter])
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
    if (window && timesOf(window).length >= counter.limit) {
      const times = [...recent(counter, window, now), now]
      refusal = await table.put(replaced(window, { times, ...expiry(counter, now) }))
    } else refusal = await table.update(appended(counter, now))
  }
  return 0
}

function appended(counter: Counter, now: number): Update {
  return {
    update: keyOf(counter),
    append: { times: [now] },
    increment: ['version'],
    set: expiry(counter, now),
    condition: { absentOrShorter: { attribute: 'times', length: counter.limit } },
  }
}

/** The expiry of a window, in seconds since 1970: the end of its latest request. */
function expiry({ windowSeconds }: Counter, now: number): { expires_at: number } {
  return { expires_at: Math.ceil(now / 1000) + windowSeconds }
}

/** Replaces a window if it has not changed since it was read. */
function replaced(window: Item, changes: { times: number[]; expires_at?: number }): Put {
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
  for (let round = 0; window && round < maxRounds; round += 1) {
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
  const found = await table.getMany(keys)
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
