import { totalMilliseconds } from '../../client/retry.ts'
import type { Clock } from '../../client/retrying-fetch.ts'

/** Delays between attempts pass, and neither an attempt nor a call reaches its limit. */
const patientClock: Clock = {
  now: () => 0,
  after(milliseconds, callback) {
    const timer = milliseconds < totalMilliseconds ? setTimeout(callback, milliseconds) : undefined
    return () => clearTimeout(timer)
  },
}

/** Options of a client that waits for an answer as long as a busy machine takes. */
export const patient = { attemptMilliseconds: totalMilliseconds, clock: patientClock }
