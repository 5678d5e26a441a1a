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

export function newId(clock: Clock): string {
  return uuidV7(clock.now(), clock.randomBytes(10))
}

/** Formats a time as RFC 3339 in UTC with milliseconds, ending in Z. */
export function timestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}

/** Returns the whole seconds since a time. */
export function secondsSince(milliseconds: number, clock: Pick<Clock, 'now'>): number {
  return Math.floor((clock.now() - milliseconds) / 1000)
}

/** Time-ordered ids (RFC 9562 5.7): an entity's created_at is the time in its id, so the id is its sort key. */

const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** @param milliseconds since 1970; @param random ten bytes */
export function uuidV7(milliseconds: number, random: Uint8Array): string {
  const tail = Buffer.from(random.subarray(0, 10)).toString('hex')
  const variant = ((Number.parseInt(tail.slice(3, 5), 16) & 0x3f) | 0x80).toString(16)
  return format(milliseconds, `7${tail.slice(0, 3)}`, `${variant}${tail.slice(5, 7)}`, tail.slice(7, 19))
}

/** Returns the smallest id of a millisecond: a lower bound for a range of created_at. */
export function firstIdAt(milliseconds: number): string {
  return format(milliseconds, '7000', '8000', '000000000000')
}

/** Returns the largest id of a millisecond. */
export function lastIdAt(milliseconds: number): string {
  return format(milliseconds, '7fff', 'bfff', 'ffffffffffff')
}

export function isUuidV7(text: string): boolean {
  return pattern.test(text)
}

/** Returns the creation time of an id, in milliseconds since 1970. */
export function timeOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}

function format(milliseconds: number, third: string, fourth: string, last: string): string {
  const time = Math.max(0, Math.trunc(milliseconds)).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-${third}-${fourth}-${last.padEnd(12, '0')}`
}

/** Derives a UUID from a name, deterministically (RFC 9562 5.8, with SHA-256). */
export function uuidV8(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex')
  const variant = ((Number.parseInt(hex.slice(16, 18), 16) & 0x3f) | 0x80).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(18, 20)}-${hex.slice(20, 32)}`
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
