import type { Route } from '#shared/platform/request/route.ts'
import type { Measure } from './alarm-types.ts'

/** The graphs of the dashboard that show several routes, functions or queues. */
export const sharedGraphs = {
  api: 'API: failures in a hundred requests',
  failures: 'Routes without a latency budget: failed requests',
  tails: 'Routes without a latency budget: p99 over p95',
  schedules: 'Scheduled functions: completed runs',
  throttles: 'Throttled: requests of the table, calls of functions',
  backups: 'Backups completed',
  mail: 'Mail: rates of bounces and complaints',
  errors: 'Functions behind the routes: errors',
  deadLetters: 'Dead letters',
  streams: 'Streams: age of the oldest change (ms)',
  queues: 'Queues: age of the oldest message (s)',
  unfinished: 'Unfinished: age of the oldest (s)',
  imports: 'Imports: time of runs (ms), timed out, failed',
} as const

export const latencyGraph = ({ operation }: Route) => `${operation}: latency (ms)`
export const failureGraph = ({ operation }: Route) => `${operation}: 5XX, and its tail`

/** Returns the title of the graph that shows the measure of an alarm. */
export function graphOf(measure: Measure): string {
  switch (measure.of) {
    case 'failed requests':
    case 'failures in a hundred requests':
      return measure.route.latency ? failureGraph(measure.route) : sharedGraphs.failures
    case 'failures in a hundred requests of the API':
      return sharedGraphs.api
    case 'tail':
      return measure.route.latency ? failureGraph(measure.route) : sharedGraphs.tails
    case 'completed runs':
      return sharedGraphs.schedules
    case 'age of the oldest message':
      return sharedGraphs.queues
    case 'throttled requests of the table':
    case 'throttled calls of functions':
      return sharedGraphs.throttles
    case 'completed backups':
      return sharedGraphs.backups
    case 'rate of bounces':
    case 'rate of complaints':
      return sharedGraphs.mail
    case 'latency':
      return latencyGraph(measure.route)
    case 'errors of the function':
      return sharedGraphs.errors
    case 'messages in the dead-letter queue':
      return sharedGraphs.deadLetters
    case 'age of the oldest change':
      return sharedGraphs.streams
    case 'runs that ended badly':
      return sharedGraphs.imports
    case 'age of the oldest unfinished':
      return sharedGraphs.unfinished
  }
}
