import { createHash } from 'node:crypto'

/** Time-ordered ids (RFC 9562 5.7): an entity's created_at is the time in its id, so the id is its sort key. */

const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** @param milliseconds since 1970; @param random ten bytes */
export function uuidV7(milliseconds: number, random: Uint8Array): string {
  const tail = Array.from(random.subarray(0, 10), (byte) => byte.toString(16).padStart(2, '0')).join('')
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
