import type { RouteEntry } from '#functions/routes.ts'
import { gatewayPathOf } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'

/** A rate that the web ACL allows each source address for the paths that contain `path`. */
export interface RateRule {
  name: string
  path: string
  limit: 'logins' | 'passwordResets' | 'oneTimeCodes'
  /** Asks for a CAPTCHA instead of blocking: a browser that solves it continues. */
  captcha: boolean
}

export const rateRules: readonly RateRule[] = [
  { name: 'Logins', path: '/login', limit: 'logins', captcha: true },
  { name: 'PasswordResets', path: '/password/reset', limit: 'passwordResets', captcha: false },
  { name: 'OneTimeCodes', path: '/otp/', limit: 'oneTimeCodes', captcha: false },
]

/**
 * Finds rates of the web ACL that are not above the service's own throttles of the same route. The service must reject
 * first: it knows the caller, and its 429 says when to retry.
 * @returns a sentence for each
 */
export function ratesBelowThrottles(settings: Settings, routes: readonly RouteEntry[]): string[] {
  return rateRules.flatMap(({ path, limit }) =>
    routes.flatMap(({ route }) => {
      const throttles = route.throttle?.(settings)
      if (!throttles || !gatewayPathOf(route, settings).startsWith(path)) return []
      const { requests, windowSeconds } = settings['limits.webAcl'][limit]
      const rates = throttles.map((throttle) => throttle.limit / throttle.windowSeconds)
      const allowed = Math.max(...rates) * windowSeconds
      return requests > allowed
        ? []
        : [
            `${limit} allows ${requests} requests in ${windowSeconds} s, but ${route.operation} itself allows ${allowed}: choose more`,
          ]
    }),
  )
}
