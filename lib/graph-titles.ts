import type { Route } from '#shared/platform/http/route.ts'
import type { Measure } from './alarm-definitions.ts'

/** The graphs of the dashboard that show more than one route, function or queue. */
export const sharedGraphs = {
  failures: 'Routes without a latency budget: failed requests',
  errors: 'Functions behind the routes: errors',
  deadLetters: 'Dead letters',
  streams: 'Streams: age of the oldest change (ms)',
  queues: 'Queues: age of the oldest message (s)',
  unfinished: 'Unfinished: age of the oldest (s)',
  imports: 'Imports: time of runs (ms), timed out, failed',
} as const

export const latencyGraph = ({ operation }: Route) => `${operation}: latency (ms)`
export const failureGraph = ({ operation }: Route) => `${operation}: 5XX, and its tail`

/** The title of the graph on which whoever is called by an alarm sees what it measures. */
export function graphOf(measure: Measure): string {
  switch (measure.of) {
    case 'failed requests':
    case 'failures in a hundred requests':
      return measure.route.latency ? failureGraph(measure.route) : sharedGraphs.failures
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
