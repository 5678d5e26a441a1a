import { Logger } from '@aws-lambda-powertools/logger'
import { type ErrorCode, messageId } from '../../error-catalog.ts'
import { systemClock } from './clock.ts'
import type { Correlation } from './correlation.ts'
import { errorCount, failureCount, type MetricSource, unfinishedAge, type Work } from './embedded-metric.ts'
import type { Failure } from './failure.ts'
import { ConfigurationError } from './failure.ts'

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
}

/** An event that the response of a request does not show. */
export interface LogReport {
  code: LogCode
  /** Its code in the catalogue, although no caller receives it. */
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

/**
 * Returns the log. If METRICS_NAMESPACE is set, the log also emits metrics there: errors by code, failures by function
 * version, and the age of unfinished work.
 */
export function powertoolsLog(service: string): Log {
  const source = metricSource()
  const logger = new Logger({ serviceName: service })
  return {
    request({ operation, status, failure, correlation, durationMilliseconds }) {
      const failed = status >= 500
      // Baggage and tracestate contain arbitrary data of callers, so they are not logged.
      const { traceparent } = correlation.trace
      const record = {
        code: failed ? 'REQUEST_FAILED' : failure ? 'REQUEST_REFUSED' : 'REQUEST_ANSWERED',
        operation,
        status,
        duration_milliseconds: durationMilliseconds,
        correlation_id: correlation.id,
        ...(traceparent !== undefined && { traceparent }),
        ...(failure && { error_code: failure.code, message_id: messageId(failure.code) }),
        ...(source && failed && failureCount(source(), 1, failure?.code)),
        ...(source && failure && !failed && errorCount(source(), failure.code)),
        ...(failed && { fault: describeFault(failure?.cause) }),
      }
      if (failed) logger.error('request', record)
      else logger.info('request', record)
    },
    report({ code, error, operation, correlation, fault }) {
      const told = { error_code: error, message_id: messageId(error), correlation_id: correlation.id }
      const record = { code, operation, ...told }
      if (fault === undefined) logger.info('notice', record)
      else {
        logger.error('notice', {
          ...record,
          ...(source && errorCount(source(), error)),
          fault: describeFault(fault),
        })
      }
    },
    relay({ code, published, failed, fault }) {
      const record = { code, published, failed, ...(fault !== undefined && { fault: describeFault(fault) }) }
      if (failed > 0) logger.error('relay', { ...record, ...(source && failureCount(source(), failed)) })
      else logger.info('relay', record)
    },
    job({ code, done, failed, fault }) {
      const record = { code, done, failed, ...(fault !== undefined && { fault: describeFault(fault) }) }
      if (failed > 0) logger.error('work', { ...record, ...(source && failureCount(source(), failed)) })
      else logger.info('work', record)
    },
    unfinished(work, seconds) {
      logger.info('unfinished', {
        code: 'WORK_UNFINISHED',
        work,
        oldest_unfinished_seconds: seconds,
        ...(source && unfinishedAge(source(), work, seconds)),
      })
    },
  }
}

/** Reads the function name and version from the environment that Lambda sets. */
function metricSource(): (() => MetricSource) | undefined {
  const { METRICS_NAMESPACE, AWS_LAMBDA_FUNCTION_NAME, AWS_LAMBDA_FUNCTION_VERSION } = process.env
  if (!METRICS_NAMESPACE) return undefined
  const version = AWS_LAMBDA_FUNCTION_NAME &&
    AWS_LAMBDA_FUNCTION_VERSION && {
      function_name: AWS_LAMBDA_FUNCTION_NAME,
      function_version: AWS_LAMBDA_FUNCTION_VERSION,
    }
  return () => ({ namespace: METRICS_NAMESPACE, version: version || undefined, at: systemClock.now() })
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
