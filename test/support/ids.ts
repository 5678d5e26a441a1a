import { newId, systemClock } from '#shared/platform/base/clock.ts'

/** Returns a random id of a millisecond. It has no order with other ids of that millisecond. */
export function idAt(milliseconds: number, randomBytes = systemClock.randomBytes): string {
  return newId({ ...systemClock, now: () => milliseconds, randomBytes })
}
