import type { Clock } from '../../client/retrying-fetch.ts'

export interface TestTime {
  clock: Clock
  /** The timer for the client. It distinguishes delays between attempts from timeouts of attempts. */
  fetch: (request: Request) => Promise<Response>
  /** The delays between attempts, in milliseconds. */
  waits: number[]
  pass(milliseconds: number): void
  /** Times the current attempt out. */
  expire(): void
}

interface Timer {
  due: number
  off: boolean
  fire(): void
}

/** A clock that a test advances. Delays between attempts end at once. */
export function testTime(): TestTime {
  let now = Date.UTC(2026, 0, 1)
  let latest: Timer | undefined
  let timeout: Timer | undefined
  const waits: number[] = []
  const expire = () => timeout?.fire()
  return {
    waits,
    expire,
    pass(milliseconds) {
      if (timeout && !timeout.off && now + milliseconds >= timeout.due) expire()
      else now += milliseconds
    },
    fetch(request) {
      timeout = latest // an attempt sets its timeout before it fetches
      return fetch(request)
    },
    clock: {
      now: () => now,
      after(milliseconds, callback) {
        const timer: Timer = {
          due: now + milliseconds,
          off: false,
          fire() {
            if (timer.off) return
            timer.off = true
            now = Math.max(now, timer.due)
            callback()
          },
        }
        latest = timer
        setImmediate(() => {
          if (timer.off || timer === timeout) return
          waits.push(milliseconds)
          timer.fire()
        })
        return () => {
          timer.off = true
        }
      },
    },
  }
}
