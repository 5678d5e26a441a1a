import type { ErrorCode } from '../errors/catalogue.ts'

/** What the counters of errors are called, and by what they are told apart. */
export const errorMetric = { name: 'errors', dimension: 'error_code', unit: 'Count' } as const

/** Failures of the service by the version of the function that had them: a deployment goes back by this metric. */
export const failureMetric = {
  name: 'failures',
  dimensions: ['function_name', 'function_version'],
  unit: 'Count',
} as const

/** How old the oldest is of what was begun and is not over, by kind of work. */
export const ageMetric = { name: 'oldest_unfinished_seconds', dimension: 'work', unit: 'Seconds' } as const

/** What is begun by a request and finished after it. */
export type Work = 'imports' | 'refunds'

/** What makes a log line that has these members a metric, in CloudWatch's embedded metric format. */
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

/** Where a line's metrics are counted, and the function that writes it. */
export interface MetricSource {
  namespace: string
  /** Absent outside Lambda. */
  version?: { function_name: string; function_version: string } | undefined
  /** Milliseconds since 1970. */
  at: number
}

/**
 * One error of this code. The log line that carries it is all there is to it: CloudWatch makes the metric from the
 * line, and no request waits for that.
 */
export function errorCount({ namespace, at }: MetricSource, code: ErrorCode) {
  return { ...embedded(namespace, at, errorDirective), error_code: code, errors: 1 }
}

/** Failures of this version, and the error that the caller gets, if there is one. */
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
