/** Ids as 128-bit numbers. Page bounds are inclusive, so adjacent pages start at adjacent ids. */

export const smallestId = '00000000-0000-0000-0000-000000000000'
export const largestId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** An inclusive range of strings; empty when `low` is above `high`. */
export interface Bounds {
  low: string
  high: string
}

/** Returns the next or previous id. There always is one: present-day ids are far from both ends. */
export function beside(id: string, steps: 1 | -1): string {
  const hex = (BigInt(`0x${id.replaceAll('-', '')}`) + BigInt(steps)).toString(16).padStart(32, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

export function smaller(one: string, other: string): string {
  return one < other ? one : other
}

export function larger(one: string, other: string): string {
  return one > other ? one : other
}
