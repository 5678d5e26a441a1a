import { type ErrorCode, messageId } from '../../error-catalog.ts'
import { systemClock, timestamp } from './clock.ts'
import type { Correlation } from './correlation.ts'
import { ConfigurationError, type Failure } from './failure.ts'

/** The code of a log record, stable for searches and metrics. */
export type LogCode =
  | 'REQUEST_ANSWERED'
  | 'REQUEST_REFUSED'
  | 'REQUEST_FAILED'
  | 'EVENTS_PUBLISHED'
  | 'EVENTS_NOT_PUBLISHED'
  | 'TASKS_NOT_QUEUED'
  | 'EVENT_NOT_HANDLED'
  | 'MAIL_NOT_SENT'
  | 'MAIL_BOUNCED'
  | 'MAIL_EVENT_NOT_HANDLED'
  | 'INTENTS_FINISHED'
  | 'INTENTS_LEFT'
  | 'PROVIDER_REPLAYED'
  | 'ROW_FAILED'
  | 'RESET_NOT_SENT'
  | 'IMPORT_NOT_STARTED'
  | 'IMPORT_STEP_DONE'
  | 'IMPORT_STEP_FAILED'
  | 'OPERATIONS_ENDED'
  | 'OPERATIONS_LEFT'
  | 'WORK_UNFINISHED'

/** One request. Of the caller's data, it contains the correlation only. */
export interface RequestLine {
  operation: string
  status: number
  failure: Failure | undefined
  correlation: Correlation
  durationMilliseconds: number
  /** The caller allowed too little time, so the timeout is no failure of the version. */
  hurried?: boolean
}

/** An event that the response of a request does not show. */
export interface LogReport {
  code: LogCode
  /** Its code in the catalog, although no caller receives it. */
  error: ErrorCode
  operation: string
  correlation: Correlation
  /** The fault of the service, if there is one. */
  fault?: unknown
}

/** Structured logs, one line per record. They contain no body, header, subject or resource id. */
export interface Log {
  request(line: RequestLine): void
  report(notice: LogReport): void
  relay(line: { code: LogCode; published: number; failed: number; fault?: unknown }): void
  /** Logs background work: how much of it failed, and why. */
  job(line: { code: LogCode; done: number; failed: number; fault?: unknown }): void
  /** Logs the age of the oldest unfinished work. */
  unfinished(work: Work, seconds: number): void
}

/** Writes one line. */
export type WriteLine = (message: string, failed: boolean, record: Record<string, unknown>) => void

/** Returns a log that writes each record as a line of JSON by itself. An HTTP function logs before its caller may go on. */
export function jsonLog(service: string, environment: NodeJS.ProcessEnv = {}): Log {
  const write: WriteLine = (message, failed, record) => {
    const level = failed ? 'ERROR' : 'INFO'
    // Lambda sets it for each invocation: `Root=1-…;Parent=…;Sampled=1`.
    const [, xray_trace_id] = /Root=([^;]+)/.exec(environment._X_AMZN_TRACE_ID ?? '') ?? []
    const line = {
      level,
      message,
      timestamp: timestamp(systemClock.now()),
      service,
      xray_trace_id,
      ...record,
    }
    process.stdout.write(`${JSON.stringify(line)}\n`)
  }
  return logOf(write, environment)
}

/**
 * Returns the log that writes its lines this way. If METRICS_NAMESPACE is set, the log also emits metrics there: errors
 * by code, failures by function version, and the age of unfinished work.
 */
export function logOf(write: WriteLine, environment: NodeJS.ProcessEnv): Log {
  // Lambda sets the function's name and version.
  const {
    METRICS_NAMESPACE: namespace,
    AWS_LAMBDA_FUNCTION_NAME: function_name,
    AWS_LAMBDA_FUNCTION_VERSION: function_version,
  } = environment
  const metrics = (...values: MetricValue[]) =>
    namespace ? embedded(namespace, systemClock.now(), values) : {}
  const errors = (code?: ErrorCode): MetricValue[] =>
    code ? [{ metric: errorMetric, members: { error_code: code, errors: 1 } }] : []
  const failures = (count: number): MetricValue[] =>
    count > 0 && function_name && function_version
      ? [{ metric: failureMetric, members: { function_name, function_version, failures: count } }]
      : []

  function batch(message: string, line: { failed: number; fault?: unknown }): void {
    const { failed, fault } = line
    write(message, failed > 0, { ...line, fault: describeFault(fault), ...metrics(...failures(failed)) })
  }

  return {
    request({ operation, status, failure, correlation, durationMilliseconds, hurried }) {
      const failed = status >= 500
      write('request', failed, {
        code: failed ? 'REQUEST_FAILED' : failure ? 'REQUEST_REFUSED' : 'REQUEST_ANSWERED',
        operation,
        status,
        duration_milliseconds: durationMilliseconds,
        correlation_id: correlation.id,
        // Baggage and tracestate contain arbitrary data of callers, so they are not logged.
        traceparent: correlation.trace.traceparent,
        error_code: failure?.code,
        message_id: failure && messageId(failure.code),
        ...metrics(...errors(failure?.code), ...failures(failed && !hurried ? 1 : 0)),
        fault: failed ? describeFault(failure?.cause) : undefined,
      })
    },
    report({ code, error, operation, correlation, fault }) {
      write('notice', fault !== undefined, {
        code,
        operation,
        error_code: error,
        message_id: messageId(error),
        correlation_id: correlation.id,
        ...(fault !== undefined && { ...metrics(...errors(error)), fault: describeFault(fault) }),
      })
    },
    relay: (line) => batch('relay', line),
    job: (line) => batch('work', line),
    unfinished(work, seconds) {
      const members = { work, oldest_unfinished_seconds: seconds }
      const metric = metrics({ metric: ageMetric, members })
      write('unfinished', false, { code: 'WORK_UNFINISHED', ...members, ...metric })
    },
  }
}

/** Returns the name and stack of a fault. Only messages for operators are included: others may quote a caller. */
export function describeFault(fault: unknown): { name: string; message?: string; at: string[] } | undefined {
  if (fault === undefined) return undefined
  if (!(fault instanceof Error)) return { name: typeof fault, at: [] }
  const frames = (fault.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  return {
    name: fault.name,
    ...(fault instanceof ConfigurationError && { message: fault.message }),
    at: frames.slice(0, 5).map((line) => line.trim()),
  }
}

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
