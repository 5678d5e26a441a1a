import type { Work } from '#shared/platform/base/embedded-metric.ts'
import type { TaskQueue } from '#shared/platform/events/tasks.ts'
import type { Route } from '#shared/platform/request/route.ts'
import type { Advice } from './alarm-advice.ts'

/** The measure of an alarm. Functions, queues and streams are named by their operation, subscription or step. */
export type Measure =
  /** 5xx responses and requests without a response, in five minutes. */
  | { of: 'failed requests'; route: Route }
  /** Milliseconds at the gateway. */
  | { of: 'latency'; route: Route; percentile: 95 | 99 }
  /** The p99 divided by the p95; 0 for fewer than `tailRequests` requests in five minutes. */
  | { of: 'tail'; route: Route }
  /** The percentage of requests with 5xx in `minutes`; 0 for fewer than `fewest` failures. */
  | { of: 'failures in a hundred requests'; route: Route; minutes: number; fewest: number }
  /** The same percentage over all routes, in five minutes. */
  | { of: 'failures in a hundred requests of the API'; fewest: number }
  | { of: 'errors of the function'; name: string }
  /** Runs of a scheduled function that ended without an error, in five minutes. */
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
  /** Invocations that Lambda throttled, over all functions of the account, in five minutes. */
  | { of: 'throttled calls of functions' }
  /** Completed backups of the table, in an hour. */
  | { of: 'completed backups' }
  /** The share of mails, from 0 to 1, that SES counts against the account. */
  | { of: 'rate of bounces' | 'rate of complaints' }

/** The limit of a measure over `periods` in a row. */
export type Threshold = { measure: Measure; periods: number } & (
  | { above: number; below?: undefined }
  /** Missing data breaches the limit: nothing was measured because nothing ran. */
  | { below: number; above?: undefined }
)

/** One window of a burn rate. Only the alarm that contains the window notifies people. */
export type Window = Threshold & { id: string }

/** `page`: someone acts now, at any hour. `ticket`: someone acts on the next working day. */
export type Severity = 'page' | 'ticket'

/** An alarm that notifies people. It has one measure, or several windows that must all be in alarm. */
export type AlarmDefinition = Advice & {
  /** The id in PascalCase. The name of the alarm ends with it (see `alarmName`). */
  id: string
  severity: Severity
  /** The impact on users, in one sentence. */
  breaks: string
} & ({ threshold: Threshold; windows?: undefined } | { windows: readonly Window[]; threshold?: undefined })

/** The name of the event bus among the owners of dead-letter queues. */
export const busName = 'events.bus'

/**
 * Returns a name such as `commerce-prod-page-OrdersCreateBurnsFast`. The policies of the topics and of the key allow
 * these names.
 */
export function alarmName(stage: string, audience: Severity | 'silent', id: string): string {
  return `commerce-${stage}-${audience}-${id}`
}

/** Measures that change slowly. */
const hourly: readonly Measure['of'][] = ['completed backups', 'rate of bounces', 'rate of complaints']

/** Returns the period of a measure in seconds. */
export function periodSeconds(measure: Measure): number {
  if (measure.of === 'failures in a hundred requests') return measure.minutes * 60
  return hourly.includes(measure.of) ? 3600 : 300
}
