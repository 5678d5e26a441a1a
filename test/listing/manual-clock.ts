import { type Clock, systemClock } from '#shared/platform/base/clock.ts'

/** A clock that stands still unless told to move: many inserts fall into one millisecond, and beside a horizon. */
export function standingClock(start: number): Clock & { at: number } {
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
