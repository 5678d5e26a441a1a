import type { ErrorCode } from '../errors/catalogue.ts'

/** What the counters of errors are called, and by what they are told apart. */
export const errorMetric = { name: 'errors', dimension: 'error_code' } as const

/** What makes a log line that has an `error_code` a count of it, in CloudWatch's embedded metric format. */
export interface ErrorCount {
  _aws: {
    /** Milliseconds since 1970. */
    Timestamp: number
    CloudWatchMetrics: {
      Namespace: string
      Dimensions: string[][]
      Metrics: { Name: string; Unit: 'Count' }[]
    }[]
  }
  error_code: ErrorCode
  errors: number
}

/**
 * One error of this code. The log line that carries it is all there is to it: CloudWatch makes the metric from the
 * line, and no request waits for that.
 * @param at milliseconds since 1970
 */
export function errorCount(namespace: string, code: ErrorCode, at: number): ErrorCount {
  const { name, dimension } = errorMetric
  return {
    _aws: {
      Timestamp: at,
      CloudWatchMetrics: [
        { Namespace: namespace, Dimensions: [[dimension]], Metrics: [{ Name: name, Unit: 'Count' }] },
      ],
    },
    [dimension]: code,
    [name]: 1,
  }
}
