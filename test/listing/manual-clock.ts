import { type Clock, systemClock } from '#shared/platform/base/clock.ts'

/** A clock that moves only on request, so many inserts share a millisecond, next to the upper bound of a session. */
export function manualClock(start: number): Clock & { at: number } {
  return {
    ...systemClock,
    at: start,
    now() {
      return this.at
    },
    async sleep(milliseconds) {
      this.at += Math.ceil(milliseconds)
    },
  }
}
