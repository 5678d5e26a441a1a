import { createHash } from 'node:crypto'
import { fail } from './failure.ts'

/** The clock and the random source. Only this module reads them; rules receive them as arguments. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  sleep(milliseconds: number): Promise<void>
  /** At least 0 and below 1; for jitter only, never for secrets. */
  jitter(): number
  /** Cryptographically random. */
  randomBytes(length: number): Uint8Array
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
  jitter: () => Math.random(),
  randomBytes: pooledRandomBytes(),
}

/** Reads random bytes in advance, because each call of the system's source costs much more than an id. */
function pooledRandomBytes(): Clock['randomBytes'] {
  const pool = new Uint8Array(4096)
  let used = pool.length
  return (length) => {
    if (length > pool.length) return crypto.getRandomValues(new Uint8Array(length))
    if (used + length > pool.length) {
      crypto.getRandomValues(pool)
      used = 0
    }
    used += length
    return pool.slice(used - length, used)
  }
}

export const minuteMilliseconds = 60_000
export const hourMilliseconds = 60 * minuteMilliseconds
export const dayMilliseconds = 24 * hourMilliseconds

/** Waits for work. @throws the error that `late` returns, if the work takes longer */
export async function withTimeout<T>(work: Promise<T>, milliseconds: number, late: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), Math.max(0, milliseconds))
  })
  return Promise.race([work, limit]).finally(() => clearTimeout(timer))
}

/** Formats a time as RFC 3339 in UTC with milliseconds, ending in Z. */
export function timestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}

/** Returns whether a time is before another one. Both are in UTC with at least milliseconds, ending in Z. */
export function isEarlier(one: string, other: string): boolean {
  // Without the Z, which sorts after the further digits of a finer time.
  return one.slice(0, -1) < other.slice(0, -1)
}

/** Returns the whole seconds since a time. */
export function secondsSince(milliseconds: number, clock: Pick<Clock, 'now'>): number {
  return Math.floor((clock.now() - milliseconds) / 1000)
}

/**
 * Time-ordered ids: UUIDs of version 8 (RFC 9562 5.8 and 6.2). They hold 48 bits of milliseconds, a counter of 12 bits,
 * 54 random bits and, last, the byte of the shard: the partition of a tenant that holds the item. An entity's created_at is
 * the time in its id, so the id is its sort key.
 */

const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

const maxCounter = 0xfff
/** The counter starts in its lower half, so at least 2,048 ids of a process fit into each millisecond. */
const startMask = 0x7ff

interface IdTime {
  milliseconds: number
  counter: number
}

/** The last id of each clock. A simulated process, or a copy of a clock with another time, has its own. */
const lastIds = new WeakMap<Clock, IdTime>()

/**
 * Returns a new id, above all earlier ones of the clock.
 * @param shards the number of shards from which it takes one at random, at most 256
 */
export function newId(clock: Clock, shards = 1): string {
  const random = Buffer.from(clock.randomBytes(9))
  const time = nextTime(lastIds.get(clock), Math.trunc(clock.now()), random.readUInt16BE(7) & startMask)
  lastIds.set(clock, time)
  const counter = `8${time.counter.toString(16).padStart(3, '0')}`
  const tail = random.toString('hex', 0, 7)
  return format(
    time.milliseconds,
    counter,
    `${variantOf(tail)}${tail.slice(2, 4)}`,
    `${tail.slice(4)}${shardDigits(random.readUInt8(6), shards)}`,
  )
}

function shardDigits(random: number, shards: number): string {
  return (random % shards).toString(16).padStart(2, '0')
}

/** Returns the shard in an id, or in a text that starts with one. Any other text is in the first. */
export function shardOf(id: string): number {
  const shard = Number.parseInt(id.slice(34, 36), 16)
  return Number.isNaN(shard) ? 0 : shard
}

/** If the counter overflows, or the clock stands still or goes back, the time of the last id continues. */
function nextTime(last: IdTime | undefined, now: number, start: number): IdTime {
  if (last === undefined || now > last.milliseconds) return { milliseconds: now, counter: start }
  const { milliseconds, counter } = last
  if (counter < maxCounter) return { milliseconds, counter: counter + 1 }
  return { milliseconds: milliseconds + 1, counter: start }
}

/** Returns the smallest id of a millisecond: a lower bound for a range of created_at. */
export function firstIdAt(milliseconds: number): string {
  return format(milliseconds, '8000', '8000', '000000000000')
}

/** Returns the largest id of a millisecond. */
export function lastIdAt(milliseconds: number): string {
  return format(milliseconds, '8fff', 'bfff', 'ffffffffffff')
}

export function isId(text: string): boolean {
  return pattern.test(text)
}

/** Returns the creation time of an id, in milliseconds since 1970. */
export function timeOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}

function format(milliseconds: number, third: string, fourth: string, last: string): string {
  const time = Math.max(0, Math.trunc(milliseconds)).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-${third}-${fourth}-${last}`
}

/** Returns the first byte of the digits with the two bits of the variant (RFC 9562 4.1). */
function variantOf(digits: string): string {
  return ((Number.parseInt(digits.slice(0, 2), 16) & 0x3f) | 0x80).toString(16)
}

/** Derives a UUID from a name, deterministically (RFC 9562 5.8, with SHA-256). */
export function derivedId(name: string): string {
  return derivedIdAt(undefined, name)
}

/**
 * Derives the id of a time, in milliseconds since 1970, and a name: several processes give the same thing one id.
 * @param shards the number of shards from which the name selects one
 */
export function derivedIdAt(milliseconds: number | undefined, name: string, shards = 256): string {
  const hex = createHash('sha256').update(name).digest('hex')
  const time = milliseconds ?? Number.parseInt(hex.slice(0, 12), 16)
  const fourth = `${variantOf(hex.slice(16))}${hex.slice(18, 20)}`
  const shard = shardDigits(Number.parseInt(hex.slice(30, 32), 16), shards)
  return format(time, `8${hex.slice(13, 16)}`, fourth, `${hex.slice(20, 30)}${shard}`)
}

/** Ids as 128-bit numbers. Page bounds are inclusive, so adjacent pages start at adjacent ids. */

export const smallestId = '00000000-0000-0000-0000-000000000000'
export const largestId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** An inclusive range of strings; empty when `low` is above `high`. */
export interface Bounds {
  low: string
  high: string
}

/** Returns the next or previous id. There always is one: present-day ids are far from both ends. */
export function adjacentId(id: string, steps: 1 | -1): string {
  const hex = (BigInt(`0x${id.replaceAll('-', '')}`) + BigInt(steps)).toString(16).padStart(32, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

export function smaller(one: string, other: string): string {
  return one < other ? one : other
}

export function larger(one: string, other: string): string {
  return one > other ? one : other
}

/** The remaining time of a request: the caller's X-Request-Timeout, limited to the deployment's maximum. */
export interface Budget {
  /** Milliseconds left, never below 0. */
  remaining(): number
  /** @throws DEPENDENCY.timeout when no time is left: no new effect may start. */
  check(): void
  /** Aborts calls in flight when the budget is spent. */
  readonly signal: AbortSignal
}

export function startBudget(clock: Clock, milliseconds: number): Budget {
  const deadline = clock.now() + milliseconds
  const remaining = () => Math.max(0, deadline - clock.now())
  let signal: AbortSignal | undefined
  return {
    remaining,
    check() {
      if (remaining() <= 0) throw fail('DEPENDENCY.timeout')
    },
    get signal() {
      signal ??= remaining() > 0 ? AbortSignal.timeout(remaining()) : AbortSignal.abort()
      return signal
    },
  }
}
