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
  /** How much of the limit a request takes: 1 if absent. Only windows that count in slices take more. */
  amount?: number
}

/**
 * The largest limit of windows that store the time of each request: the item stays below 1 KB, one write unit. They are exact. Those
 * of larger limits count the requests of each twentieth of their time. They cost as much, never admit more than their limit either,
 * and make room up to a twentieth of their time later.
 */
const largestExact = 100
const slices = 20

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
 * Counts a request in all counters, or rejects it. A counter costs one write, which takes effect while the window has room:
 * concurrent requests neither conflict nor exceed the limit. Only a window with expired requests, or a new slice, costs another write. A
 * write whose response was lost may count a request twice.
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
  let refusal = await table.update(added(counter, now))
  for (let round = 1; refusal; round += 1) {
    const window = refusal.existing
    const wait = waitOf(counter, window, now)
    if (wait > 0) return wait
    if (round === maxRounds) return 1
    if (round > 1) await clock.sleep(clock.jitter() * maxPauseMilliseconds)
    const renewal = renewed(counter, window, now)
    refusal = await (renewal ? table.put(renewal) : table.update(added(counter, now, window)))
  }
  return 0
}

/** Returns the write that counts a request in a window with room. @param window as it was read, if it was */
function added(counter: Counter, now: number, window?: Item): Update {
  const { limit, amount = 1 } = counter
  const common = { update: counterKey(counter), increment: ['version'], set: expiry(counter, now) }
  if (isExact(counter)) {
    const condition = { absentOrShorter: { attribute: 'times', length: limit } }
    return { ...common, append: { times: [now] }, condition }
  }
  // The clock of another process may have begun a later slice.
  const slice = Math.max(sliceOf(counter, now), Number(window?.slice ?? 0))
  const condition = { matches: { slice }, below: { total: limit } }
  return { ...common, add: { count: amount, total: amount }, condition }
}

/** Returns the write that counts a request in a window without what has expired; undefined if nothing of it has. */
function renewed(counter: Counter, window: Item | undefined, now: number): Put | undefined {
  const { limit, amount = 1 } = counter
  if (isExact(counter)) {
    if (!window || timesOf(window).length < limit) return undefined
    return replaced(window, { times: [...recent(counter, window, now), now], ...expiry(counter, now) })
  }
  const slice = sliceOf(counter, now)
  if (window && Number(window.slice) >= slice) return undefined
  const earlier = slicesOf(counter, window, now)
  const total = totalOf(earlier) + amount
  const changes = { slice, count: amount, earlier, total, ...expiry(counter, now) }
  if (window) return replaced(window, changes)
  return { item: { ...counterKey(counter), version: 1, ...changes }, condition: { absent: true } }
}

function isExact({ limit }: WindowLimit): boolean {
  return limit <= largestExact
}

/** A twentieth of a window's time, by its number since 1970, with what was counted in it. */
type Slice = readonly [number: number, count: number]

function sliceOf(counter: WindowLimit, at: number): number {
  return Math.floor(at / sliceMilliseconds(counter))
}

function sliceMilliseconds({ windowSeconds }: WindowLimit): number {
  return (windowSeconds * 1000) / slices
}

/** Returns the slices that are a part of the window now, oldest first. */
function slicesOf(counter: WindowLimit, window: Item | undefined, now: number): Slice[] {
  if (!window) return []
  const all = [...(window.earlier as Slice[]), [Number(window.slice), Number(window.count)] as const]
  const first = sliceOf(counter, now) - slices
  return all.filter(([slice]) => slice >= first)
}

function totalOf(all: readonly Slice[]): number {
  return all.reduce((sum, [, count]) => sum + count, 0)
}

/** The expiry of a window, in seconds since 1970: the end of its latest request. */
function expiry({ windowSeconds }: Counter, now: number): { expires_at: number } {
  return { expires_at: Math.ceil(now / 1000) + windowSeconds }
}

/** Replaces a window if it has not changed since it was read. */
function replaced(window: Item, changes: Record<string, unknown>): Put {
  const version = Number(window.version)
  return { item: { ...window, ...changes, version: version + 1 }, condition: { matches: { version } } }
}

/** Removes a request from a window. @param countedAt the result of `countIn` */
export async function uncountRequest(
  counter: Counter,
  countedAt: number,
  table: Table,
  clock: Clock,
): Promise<void> {
  let window = await table.get(counterKey(counter))
  for (let round = 0; window && round < maxRounds; round += 1) {
    const changes = withoutRequest(counter, window, countedAt)
    const refusal = changes && (await table.put(replaced(window, changes)))
    if (!refusal) return
    window = refusal.existing
    await clock.sleep(clock.jitter() * maxPauseMilliseconds)
  }
}

/** Returns the changes of a window that remove a request; undefined if it is not there. */
function withoutRequest(
  counter: Counter,
  window: Item,
  countedAt: number,
): Record<string, unknown> | undefined {
  if (isExact(counter)) {
    const times = timesOf(window)
    const index = times.indexOf(countedAt)
    return index < 0 ? undefined : { times: times.toSpliced(index, 1) }
  }
  const { amount = 1 } = counter
  const slice = sliceOf(counter, countedAt)
  const less = ([number, count]: Slice): Slice => [
    number,
    number === slice ? Math.max(0, count - amount) : count,
  ]
  const earlier = (window.earlier as Slice[]).map(less)
  const [, count] = less([Number(window.slice), Number(window.count)])
  return { earlier, count, total: totalOf(earlier) + count }
}

async function readWindows(counters: readonly Counter[], table: Table): Promise<(Item | undefined)[]> {
  const keys = counters.map(counterKey)
  const [first, ...others] = keys
  if (first && others.length === 0) return [await table.get(first)]
  const found = await table.getMany(keys)
  return keys.map(({ pk }) => found.find((item) => item.pk === pk))
}

/** Returns the milliseconds until a window has room; 0 if it has. */
function waitOf(counter: Counter, window: Item | undefined, now: number): number {
  const { limit, windowSeconds } = counter
  if (isExact(counter)) {
    const first = recent(counter, window, now).at(-limit)
    return first === undefined ? 0 : first + windowSeconds * 1000 - now
  }
  const held = slicesOf(counter, window, now)
  let total = totalOf(held)
  if (total < limit) return 0
  const last = held.find(([, count]) => {
    total -= count
    return total < limit
  })
  return ((last?.[0] ?? 0) + slices + 1) * sliceMilliseconds(counter) - now
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

function counterKey(counter: Counter): Key {
  const hash = createHash('sha256').update(JSON.stringify(counter.subject)).digest('base64url')
  // Slices of another length are another window.
  return { pk: `rate#${hash}`, sk: isExact(counter) ? 'times' : `slices#${counter.windowSeconds}` }
}
