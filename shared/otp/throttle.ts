import type { Throttle } from '../platform/request/route.ts'
import type { Settings } from '../settings/register.ts'

/** Returns the throttles of code requests: by source and address, and by source alone for all addresses. */
export function requestThrottles(settings: Settings): Throttle[] {
  const { requests: limit, windowSeconds } = settings['otp.sourceThrottle']
  return [
    { limit: 5, windowSeconds: 60, by: ['source', 'body.email'] },
    { limit, windowSeconds, by: ['source'], shared: 'otp' },
  ]
}

/** Returns the throttles of verifications: those of requests, and one for the wrong codes of a source. */
export function verifyThrottles(settings: Settings): Throttle[] {
  const { wrongAttempts: limit, windowSeconds } = settings['otp.sourceThrottle']
  const wrong = { limit, windowSeconds, by: ['source'], shared: 'otp.wrong', counts: 'failures' } as const
  return [...requestThrottles(settings), wrong]
}
