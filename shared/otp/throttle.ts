import type { Throttle } from '../platform/http/route.ts'

/** Of requests and of verifications alike (contract, 'Limits'). */
export const otpThrottle = (): Throttle => ({ limit: 5, windowSeconds: 60, by: ['source', 'body.email'] })
