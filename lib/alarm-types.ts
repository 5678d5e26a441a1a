import type { Route } from '#shared/platform/http/route.ts'
import type { Work } from '#shared/platform/logging/embedded-metric.ts'
import type { TaskQueue } from '#shared/platform/queue/tasks.ts'
import type { Advice } from './alarm-advice.ts'

/** What an alarm measures. Functions, queues and streams are named by the operation, subscription or step they serve. */
export type Measure =
  /** Responses with 5xx and calls without a response, in five minutes. */
  | { of: 'failed requests'; route: Route }
  /** Milliseconds at the gateway. */
  | { of: 'latency'; route: Route; percentile: 95 | 99 }
  /** The p99 divided by the p95; 0 for fewer than `tailRequests` requests in five minutes. */
  | { of: 'tail'; route: Route }
  /** Percentage of requests with 5xx in so many minutes; 0 if there were fewer failures than `fewest`. */
  | { of: 'failures in a hundred requests'; route: Route; minutes: number; fewest: number }
  /** The same over all routes, in five minutes. */
  | { of: 'failures in a hundred requests of the API'; fewest: number }
  | { of: 'errors of the function'; name: string }
  /** Calls of a scheduled function that ended without an error, in five minutes. */
  | { of: 'completed runs'; name: string }
  | { of: 'messages in the dead-letter queue'; name: string }
  /** Milliseconds. */
  | { of: 'age of the oldest change'; name: string }
  /** Seconds. */
  | { of: 'age of the oldest message'; queue: TaskQueue }
  | { of: 'runs that ended badly' }
  /** Seconds. */
  | { of: 'age of the oldest unfinished'; work: Work }
  /** Requests to the table and its index that DynamoDB throttled, in five minutes. */
  | { of: 'throttled requests of the table' }
  /** Calls of any function of the account that Lambda throttled, in five minutes. */
  | { of: 'throttled calls of functions' }
  /** Backups of the table that completed, in an hour. */
  | { of: 'completed backups' }
  /** The share of mails, from 0 to 1, that SES counts against the account. */
  | { of: 'rate of bounces' | 'rate of complaints' }

/** The limit of a measure, for so many periods in a row. */
export type Threshold = { measure: Measure; periods: number } & (
  | { above: number; below?: undefined }
  /** Missing data breaches it: nothing was measured because nothing ran. */
  | { below: number; above?: undefined }
)

/** One window of a burn rate. It notifies nobody; the alarm that it belongs to does. */
export type Window = Threshold & { id: string }

/** `page`: someone acts now, at any hour. `ticket`: someone acts on the next working day. */
export type Severity = 'page' | 'ticket'

/** An alarm that notifies people: of one measure, or of several windows that are all in alarm. */
export type AlarmDefinition = Advice & {
  /** In PascalCase; the alarm's name ends with it (see `alarmName`). */
  id: string
  severity: Severity
  /** The impact on users, in a sentence. */
  breaks: string
} & ({ threshold: Threshold; windows?: undefined } | { windows: readonly Window[]; threshold?: undefined })

/** The event bus among what has dead letters. */
export const busName = 'events.bus'

/** `commerce-prod-page-OrdersCreateBurnsFast`. The policies of the topics and of the key admit these names. */
export function alarmName(stage: string, audience: Severity | 'silent', id: string): string {
  return `commerce-${stage}-${audience}-${id}`
}

/** What changes slowly. */
const hourly: readonly Measure['of'][] = ['completed backups', 'rate of bounces', 'rate of complaints']

/** The seconds over which a measure is taken. */
export function periodSeconds(measure: Measure): number {
  if (measure.of === 'failures in a hundred requests') return measure.minutes * 60
  return hourly.includes(measure.of) ? 3600 : 300
}
