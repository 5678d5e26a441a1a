import type { ErrorCode } from '../../error-catalog.ts'

/** The counter of errors, by error code. */
export const errorMetric = { name: 'errors', dimension: 'error_code', unit: 'Count' } as const

/** Failures of the service by function version. A deployment rolls back on this metric. */
export const failureMetric = {
  name: 'failures',
  dimensions: ['function_name', 'function_version'],
  unit: 'Count',
} as const

/** The age of the oldest unfinished work, by kind. */
export const ageMetric = { name: 'oldest_unfinished_seconds', dimension: 'work', unit: 'Seconds' } as const

/** The kinds of work that a request starts and that finish after it. */
export type Work = 'imports' | 'refunds'

/** The members that make a log line a metric, in CloudWatch's embedded metric format. */
interface Embedded {
  _aws: {
    /** Milliseconds since 1970. */
    Timestamp: number
    CloudWatchMetrics: {
      Namespace: string
      Dimensions: string[][]
      Metrics: { Name: string; Unit: 'Count' | 'Seconds' }[]
    }[]
  }
}

/** The namespace of a line's metrics, and the function that writes the line. */
export interface MetricSource {
  namespace: string
  /** Absent outside Lambda. */
  version?: { function_name: string; function_version: string } | undefined
  /** Milliseconds since 1970. */
  at: number
}

/**
 * Counts one error of this code. CloudWatch extracts the metric from the log line that contains it, so no request waits
 * for it.
 */
export function errorCount({ namespace, at }: MetricSource, code: ErrorCode) {
  return { ...embedded(namespace, at, errorDirective), error_code: code, errors: 1 }
}

/** Counts failures of this version and, if there is one, the error that the caller gets. */
export function failureCount({ namespace, version, at }: MetricSource, failures: number, code?: ErrorCode) {
  const directives = [
    ...(code === undefined ? [] : [errorDirective]),
    ...(version ? [{ ...failureMetric, dimensions: [...failureMetric.dimensions] }] : []),
  ]
  if (directives.length === 0) return {}
  return {
    ...embedded(namespace, at, ...directives),
    ...(code !== undefined && { error_code: code, errors: 1 }),
    ...(version && { ...version, failures }),
  }
}

export function unfinishedAge({ namespace, at }: MetricSource, work: Work, seconds: number) {
  const directive = { ...ageMetric, dimensions: [ageMetric.dimension] }
  return { ...embedded(namespace, at, directive), work, oldest_unfinished_seconds: seconds }
}

interface Directive {
  name: string
  dimensions: string[]
  unit: 'Count' | 'Seconds'
}

const errorDirective: Directive = { ...errorMetric, dimensions: [errorMetric.dimension] }

function embedded(namespace: string, at: number, ...directives: Directive[]): Embedded {
  const metrics = directives.map(({ name, dimensions, unit }) => ({
    Namespace: namespace,
    Dimensions: [dimensions],
    Metrics: [{ Name: name, Unit: unit }],
  }))
  return { _aws: { Timestamp: at, CloudWatchMetrics: metrics } }
}
