/** The counter of errors, by error code. */
export const errorMetric = { name: 'errors', dimensions: ['error_code'], unit: 'Count' } as const

/** Failures of the service by function version. A deployment rolls back on this metric. */
export const failureMetric = {
  name: 'failures',
  dimensions: ['function_name', 'function_version'],
  unit: 'Count',
} as const

/** The age of the oldest unfinished work, by kind. */
export const ageMetric = { name: 'oldest_unfinished_seconds', dimensions: ['work'], unit: 'Seconds' } as const

/** The kinds of work that a request starts and that finish after it. */
export type Work = 'imports' | 'refunds'

/** A metric, with its value and its dimensions as members of the log line. */
export type MetricValue =
  | { metric: typeof errorMetric; members: { error_code: string; errors: number } }
  | {
      metric: typeof failureMetric
      members: { function_name: string; function_version: string; failures: number }
    }
  | { metric: typeof ageMetric; members: { work: Work; oldest_unfinished_seconds: number } }

/**
 * Returns the members that make a log line a source of metrics, in CloudWatch's embedded metric format. CloudWatch
 * extracts them from the line, so no request waits for it.
 * @param at milliseconds since 1970
 */
export function embedded(namespace: string, at: number, values: readonly MetricValue[]): object {
  if (values.length === 0) return {}
  const directives = values.map(({ metric: { name, dimensions, unit } }) => ({
    Namespace: namespace,
    Dimensions: [dimensions],
    Metrics: [{ Name: name, Unit: unit }],
  }))
  const _aws = { Timestamp: at, CloudWatchMetrics: directives }
  return Object.assign({ _aws }, ...values.map(({ members }) => members))
}
