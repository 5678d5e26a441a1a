import type { Settings } from '../../settings/register.ts'
import { fail } from '../errors/failure.ts'

/**
 * Returns the headers of a deprecated operation: its deprecation (RFC 9745) and its end (RFC 8594). Empty for other
 * operations.
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
 * Rejects requests for an operation after its sunset, replays included.
 * @param now milliseconds since 1970
 * @throws the code and status of the setting versioning.sunset
 */
export function checkSunset(operation: string, settings: Settings, now: number): void {
  const dates = datesOf(operation, settings)
  if (!dates || now < dates.sunset) return
  const { code, status } = settings['versioning.sunset']
  throw fail(code, { http: status })
}

/** Both in milliseconds since 1970; a date in the profile starts at midnight UTC. */
function datesOf(operation: string, settings: Settings): { deprecated: number; sunset: number } | undefined {
  const { deprecated } = settings['versioning.sunset']
  const dates = Object.hasOwn(deprecated, operation) ? deprecated[operation] : undefined
  return dates && { deprecated: Date.parse(dates.deprecatedAt), sunset: Date.parse(dates.sunsetAt) }
}

/** Returns a message for each operation whose sunset comes sooner after its deprecation than the profile promises. */
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
