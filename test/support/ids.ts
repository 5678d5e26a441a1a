import { newId, systemClock } from '#shared/platform/base/clock.ts'

/**
 * Returns a random id of a millisecond. It has no order with other ids of that millisecond.
 * @param shards the number of shards from which it takes one
 */
export function idAt(milliseconds: number, randomBytes = systemClock.randomBytes, shards = 1): string {
  return newId({ ...systemClock, now: () => milliseconds, randomBytes }, shards)
}

/** A source of random bytes that returns the same ones in each run. */
export function seededBytes(seed: number): (length: number) => Uint8Array {
  let state = seed
  return (length) =>
    Uint8Array.from({ length }, () => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
      return state >> 16
    })
}
