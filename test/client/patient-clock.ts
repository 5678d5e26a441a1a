import type { Clock } from '../../client/retrying-fetch.ts'

/** A clock on which delays between attempts pass, and neither an attempt nor a call reaches its limit. */
export const patientClock: Clock = {
  now: () => 0,
  after(milliseconds, callback) {
    const timer = milliseconds < 5000 ? setTimeout(callback, milliseconds) : undefined
    return () => clearTimeout(timer)
  },
}
