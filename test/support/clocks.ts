import { type Clock, systemClock } from '#shared/platform/base/clock.ts'
import type { Random } from '#test/simulation/random.ts'
import type { Scheduler } from '#test/simulation/scheduler.ts'

export interface MovableClock extends Clock {
  /** Advances the clock. */
  advance(milliseconds: number): void
  /** Sets the clock to a time, in milliseconds since 1970. */
  moveTo(time: number): void
}

/** A clock that only sleeping and a test move. A sleep takes no real time, except for pending I/O. */
export function movableClock(start = Date.now()): MovableClock {
  return clockAheadOf(() => start)
}

/** The clock of the system, which sleeping and a test put forward. */
export function movableSystemClock(): MovableClock {
  return clockAheadOf(Date.now)
}

function clockAheadOf(now: () => number): MovableClock {
  let passed = 0
  return {
    ...systemClock,
    now: () => now() + passed,
    jitter: () => 0,
    async sleep(milliseconds) {
      passed += milliseconds
      await new Promise((resolve) => setImmediate(resolve))
    },
    advance(milliseconds) {
      passed += milliseconds
    },
    moveTo(time) {
      passed = time - now()
    },
  }
}

/** Returns the clock of virtual time, with the random values of `random`. */
export function clockOf(scheduler: Scheduler, random: Random): Clock {
  return {
    now: () => Math.floor(scheduler.now),
    sleep: (milliseconds) => scheduler.sleep(milliseconds),
    jitter: () => random.next(),
    randomBytes: (length) => random.bytes(length),
  }
}
