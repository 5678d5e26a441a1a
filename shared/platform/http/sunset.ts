import type { Settings } from '../../settings/register.ts'
import { fail } from '../errors/failure.ts'

/**
 * What every answer of a deprecated operation says (contract, 'Versioning'): since when callers should use another one
 * (RFC 9745), and when it ends (RFC 8594). Nothing of any other operation.
 */
export function deprecationHeaders(operation: string, settings: Settings): Record<string, string> {
  const dates = datesOf(operation, settings)
  if (!dates) return {}
  return {
    Deprecation: `@${dates.deprecated / 1000}`,
    Sunset: new Date(dates.sunset).toUTCString(),
  }
}

/**
 * Ends an operation for everyone at once, replays included.
 * @param now milliseconds since 1970
 * @throws the code and status of the setting versioning.sunset from the day of the sunset on
 */
export function checkSunset(operation: string, settings: Settings, now: number): void {
  const dates = datesOf(operation, settings)
  if (!dates || now < dates.sunset) return
  const { code, status } = settings['versioning.sunset']
  throw fail(code, { http: status })
}

/** Both in milliseconds since 1970; a day of the profile begins at midnight in UTC. */
function datesOf(operation: string, settings: Settings): { deprecated: number; sunset: number } | undefined {
  const { deprecated } = settings['versioning.sunset']
  const dates = Object.hasOwn(deprecated, operation) ? deprecated[operation] : undefined
  return dates && { deprecated: Date.parse(dates.deprecatedAt), sunset: Date.parse(dates.sunsetAt) }
}

/** The operations that a profile ends sooner after their deprecation than it promises to its callers, in words. */
export function hastySunsets(settings: Settings): string[] {
  const { windowDays, deprecated } = settings['versioning.sunset']
  return Object.keys(deprecated).flatMap((operation) => {
    const { deprecated: from = 0, sunset: to = 0 } = datesOf(operation, settings) ?? {}
    const days = (to - from) / 86_400_000
    return days < windowDays
      ? [`${operation} ends ${days} days after its deprecation, but callers are promised ${windowDays}`]
      : []
  })
}
