import { Logger } from '@aws-lambda-powertools/logger'
import { systemClock } from '../clock.ts'
import { type ErrorCode, messageId } from '../errors/catalogue.ts'
import { ConfigurationError } from '../errors/configuration-error.ts'
import type { Failure } from '../errors/failure.ts'
import type { Correlation } from '../http/correlation.ts'
import { errorCount, failureCount, type MetricSource, unfinishedAge, type Work } from './embedded-metric.ts'

/** What happened, by a code that searches and metrics can rely on. */
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

/** One request, without anything that its caller sent but the correlation id. */
export interface RequestLine {
  operation: string
  status: number
  failure: Failure | undefined
  correlation: Correlation
  durationMilliseconds: number
}

/** Something that the answer of a request does not show. */
export interface Notice {
  code: LogCode
  /** What it is by the catalogue, although nobody is answered so. */
  error: ErrorCode
  operation: string
  correlation: Correlation
  /** The service's own, where there is one. */
  fault?: unknown
}

/** Structured logs, one line a record. Nobody logs a body, a header, a subject or an id of a resource. */
export interface Log {
  request(line: RequestLine): void
  noticed(notice: Notice): void
  relayed(line: { code: LogCode; published: number; failed: number; fault?: unknown }): void
  /** Work that nobody waits for: how much of it failed, and why. */
  worked(line: { code: LogCode; done: number; failed: number; fault?: unknown }): void
  /** How long the oldest has been under way of what is not over. */
  unfinished(work: Work, seconds: number): void
}

/**
 * Where METRICS_NAMESPACE names a namespace, it counts there each error by its code, failures by the function's version,
 * and the age of unfinished work.
 */
export function powertoolsLog(service: string): Log {
  const source = metricSource()
  const logger = new Logger({ serviceName: service })
  return {
    request({ operation, status, failure, correlation, durationMilliseconds }) {
      const failed = status >= 500
      // Baggage and tracestate hold what callers put there, so they are not logged.
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
    noticed({ code, error, operation, correlation, fault }) {
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
    relayed({ code, published, failed, fault }) {
      const record = { code, published, failed, ...(fault !== undefined && { fault: describeFault(fault) }) }
      if (failed > 0) logger.error('relay', { ...record, ...(source && failureCount(source(), failed)) })
      else logger.info('relay', record)
    },
    worked({ code, done, failed, fault }) {
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

/** Lambda names the function and its version in the environment. */
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

/** The kind of a fault and where it arose. Other messages than an operator's are left out: they may quote a caller. */
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
