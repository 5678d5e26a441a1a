import type { Throttle } from '../platform/http/route.ts'
import type { Settings } from '../settings/register.ts'

/** The throttles of requests for codes: by source and address, and by source alone, whatever the addresses. */
export function requestThrottles(settings: Settings): Throttle[] {
  const { requests: limit, windowSeconds } = settings['otp.sourceThrottle']
  return [
    { limit: 5, windowSeconds: 60, by: ['source', 'body.email'] },
    { limit, windowSeconds, by: ['source'], shared: 'otp' },
  ]
}

/** The throttles of verifications: the same, and the wrong codes of a source. */
export function verifyThrottles(settings: Settings): Throttle[] {
  const { wrongAttempts: limit, windowSeconds } = settings['otp.sourceThrottle']
  const wrong = { limit, windowSeconds, by: ['source'], shared: 'otp.wrong', failuresOnly: true } as const
  return [...requestThrottles(settings), wrong]
}
