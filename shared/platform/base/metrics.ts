/** The service in each log line. */
export const serviceName = 'commerce-api'

/**
 * The requests that the service failed, by what an alarm watches (see `alarmGroupOf`) and all together. Alarms count these and
 * not the 5xx responses of the gateway, because callers can cause 5xx responses. Each line has the members of both
 * dimensions.
 */
export const failedRequestMetric = {
  name: 'failed_requests',
  dimensions: ['watched'],
  total: ['service'],
  unit: 'Count',
} as const

/** Failures of the service by function version. A deployment rolls back on this metric. */
export const failureMetric = {
  name: 'failures',
  dimensions: ['function_name', 'function_version'],
  unit: 'Count',
} as const

/** The age of the oldest pending work, by kind. */
export const ageMetric = { name: 'oldest_pending_seconds', dimensions: ['work'], unit: 'Seconds' } as const

/** The counter of alerts, by code. */
export const alertMetric = { name: 'alerts', dimensions: ['code'], unit: 'Count' } as const

/** The differences between the ledger and the records of a partner. */
export const differenceMetric = { name: 'differences', dimensions: ['work'], unit: 'Count' } as const

/** The calls of the public address that succeeded. */
export const probeMetric = { name: 'successful_probes', dimensions: ['service'], unit: 'Count' } as const

/**
 * A metric, with its value and its dimensions as members of the log line. Each value of a dimension costs like another
 * metric, so only what an alarm reads is one. Everything else is counted by queries of the log.
 */
export type MetricValue =
  | { metric: typeof failedRequestMetric; members: { watched: string; failed_requests: number } }
  | {
      metric: typeof failureMetric
      members: { function_name: string; function_version: string; failures: number }
    }
  | { metric: typeof alertMetric; members: { code: string; alerts: number } }
  | { metric: typeof ageMetric; members: { work: string; oldest_pending_seconds: number } }
  | { metric: typeof differenceMetric; members: { work: string; differences: number } }
  | { metric: typeof probeMetric; members: { successful_probes: number } }

/**
 * Returns the members that make a log line a source of metrics, in CloudWatch's embedded metric format. CloudWatch
 * extracts them from the line, so no request waits for it.
 * @param at milliseconds since 1970
 */
export function embedded(namespace: string, at: number, values: readonly MetricValue[]): object {
  if (values.length === 0) return {}
  const directives = values.map(({ metric }) => ({
    Namespace: namespace,
    Dimensions: 'total' in metric ? [metric.dimensions, metric.total] : [metric.dimensions],
    Metrics: [{ Name: metric.name, Unit: metric.unit }],
  }))
  const _aws = { Timestamp: at, CloudWatchMetrics: directives }
  return Object.assign({ _aws }, ...values.map(({ members }) => members))
}
