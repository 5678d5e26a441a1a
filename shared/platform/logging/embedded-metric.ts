import type { ErrorCode } from '../errors/catalogue.ts'

/** What the counters of errors are called, and by what they are told apart. */
export const errorMetric = { name: 'errors', dimension: 'error_code', unit: 'Count' } as const

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

/**
 * One error of this code. The log line that carries it is all there is to it: CloudWatch makes the metric from the
 * line, and no request waits for that.
 * @param at milliseconds since 1970
 */
export function errorCount(namespace: string, code: ErrorCode, at: number) {
  return { ...embedded(namespace, errorMetric, at), error_code: code, errors: 1 }
}

/** @param at milliseconds since 1970 */
export function unfinishedAge(namespace: string, work: Work, seconds: number, at: number) {
  return { ...embedded(namespace, ageMetric, at), work, oldest_unfinished_seconds: seconds }
}

function embedded(
  namespace: string,
  { name, dimension, unit }: typeof errorMetric | typeof ageMetric,
  at: number,
): Embedded {
  const metric = {
    Namespace: namespace,
    Dimensions: [[dimension]],
    Metrics: [{ Name: name, Unit: unit }],
  }
  return { _aws: { Timestamp: at, CloudWatchMetrics: [metric] } }
}
