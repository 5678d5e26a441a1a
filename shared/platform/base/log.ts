import { type ErrorCode, messageId } from '../../error-catalog.ts'
import { systemClock, timestamp } from './clock.ts'
import type { Correlation } from './correlation.ts'
import { Failure, ReportableError } from './failure.ts'

/** The code of a log record, stable for searches and metrics. */
export type LogCode =
  | 'REQUEST_ANSWERED'
  | 'REQUEST_REFUSED'
  | 'REQUEST_FAILED'
  | 'EVENTS_PUBLISHED'
  | 'EVENTS_NOT_PUBLISHED'
  | 'TASKS_NOT_QUEUED'
  | 'EVENT_NOT_HANDLED'
  | 'EVENT_FAILED'
  | 'EVENT_IGNORED'
  | 'MAIL_NOT_SENT'
  | 'MAIL_BOUNCED'
  | 'MAIL_EVENT_NOT_HANDLED'
  | 'SAGAS_FINISHED'
  | 'SAGAS_PENDING'
  | 'REFUNDS_CHECKED'
  | 'REFUNDS_LEFT'
  | 'PROVIDER_REPLAYED'
  | 'ROW_FAILED'
  | 'RESET_NOT_SENT'
  | 'IMPORT_NOT_STARTED'
  | 'IMPORT_STEP_DONE'
  | 'IMPORT_STEP_FAILED'
  | 'OPERATIONS_ENDED'
  | 'OPERATIONS_LEFT'
  | 'WORK_UNFINISHED'
  | 'REFUNDS_RECONCILED'
  | 'REFUNDS_DIFFER'
  | 'REFUNDS_NOT_RECONCILED'

/** What an operator must look at, each with its alarm. */
export type AlertCode = 'REFUND_PAID_LATE'

/** One request. Of the caller's data, it contains the correlation and the tenant only. */
export interface RequestLine {
  operation: string
  /** Of the credential; absent without one. */
  tenant?: string | undefined
  /** The keyed hash of the source of an anonymous request. */
  source?: string | undefined
  status: number
  failure: Failure | undefined
  correlation: Correlation
  durationMilliseconds: number
  /** The caller caused the 5xx, which is no failure of the service then. */
  causedByCaller?: boolean
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

/** A received event that had no effect. Its id and type are the sender's, without personal data. */
export interface EventLine {
  code: LogCode
  eventId: string
  eventType: string
  /** Whether the type has a handler. All other types are counted as one, because their number has no bound. */
  isKnownType: boolean
  correlation: Correlation
  /** The error that prevented it; absent if the event has no meaning here. */
  fault?: unknown
}

/** Work that no caller waits for. */
export interface JobLine {
  code: LogCode
  done: number
  failed: number
  fault?: unknown
  /** The id of the queue's message, which it keeps as a dead letter. */
  message_id?: string
  /** The number of the attempt, from 1. */
  attempt?: number
}

/** Structured logs, one line per record. They contain no body, header, subject or resource id. */
export interface Log {
  request(line: RequestLine): void
  report(notice: LogReport): void
  /** Logs and counts what an alarm reports. */
  alert(code: AlertCode, correlation: Correlation): void
  relay(line: { code: LogCode; published: number; failed: number; fault?: unknown }): void
  /** Logs a received event that failed, or counts one that was ignored. */
  event(line: EventLine): void
  /** Logs background work: how much of it failed, and why. */
  job(line: JobLine): void
  /** Logs the age of the oldest unfinished work. */
  unfinished(work: Work, seconds: number): void
  /** Logs a comparison of a tenant's ledger with the records of the payment provider. */
  reconciled(line: { tenant: string; compared: number; unrelated: number; differences: number }): void
}

/** Writes one line. */
type WriteLine = (message: string, failed: boolean, record: Record<string, unknown>) => void

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
 * by code, failed requests by operation, failures by function version, alerts by code, ignored events by type, the age of unfinished work, and
 * differences from the records of a partner.
 * @param describe returns a fault as it is logged
 */
export function logOf(write: WriteLine, environment: NodeJS.ProcessEnv, describe = describeFault): Log {
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
    write(message, failed > 0, { ...line, fault: describe(fault), ...metrics(...failures(failed)) })
  }

  return {
    request(line) {
      const { operation, tenant, source, status, failure, correlation, durationMilliseconds } = line
      const { causedByCaller = false } = line
      const failed = status >= 500 && !causedByCaller
      const failedRequest = { metric: failedRequestMetric, members: { operation, failed_requests: 1 } }
      write('request', failed, {
        code: failed ? 'REQUEST_FAILED' : failure ? 'REQUEST_REFUSED' : 'REQUEST_ANSWERED',
        operation,
        tenant,
        source,
        status,
        duration_milliseconds: durationMilliseconds,
        correlation_id: correlation.id,
        // Baggage and tracestate contain arbitrary data of callers, so they are not logged.
        traceparent: correlation.trace.traceparent,
        error_code: failure?.code,
        message_id: failure && messageId(failure.code),
        ...(causedByCaller && { caused_by_caller: true }),
        ...metrics(...errors(failure?.code), ...(failed ? [failedRequest, ...failures(1)] : [])),
        fault: failed ? describe(failure?.cause) : undefined,
      })
    },
    report({ code, error, operation, correlation, fault }) {
      write('notice', fault !== undefined, {
        code,
        operation,
        error_code: error,
        message_id: messageId(error),
        correlation_id: correlation.id,
        ...(fault !== undefined && { ...metrics(...errors(error)), fault: describe(fault) }),
      })
    },
    alert(code, correlation) {
      const metric = metrics({ metric: alertMetric, members: { code, alerts: 1 } })
      write('alert', true, { code, correlation_id: correlation.id, ...metric })
    },
    event({ code, eventId, eventType, isKnownType, correlation, fault }) {
      const members = { ignored_type: isKnownType ? eventType : 'other', ignored_events: 1 }
      write('event', fault !== undefined, {
        code,
        event_id: eventId,
        event_type: eventType,
        correlation_id: correlation.id,
        ...(fault === undefined
          ? metrics({ metric: ignoredMetric, members })
          : { error_code: fault instanceof Failure ? fault.code : undefined, fault: describe(fault) }),
      })
    },
    relay: (line) => batch('relay', line),
    job: (line) => batch('work', line),
    unfinished(work, seconds) {
      const members = { work, oldest_unfinished_seconds: seconds }
      const metric = metrics({ metric: ageMetric, members })
      write('unfinished', false, { code: 'WORK_UNFINISHED', ...members, ...metric })
    },
    reconciled({ tenant, compared, unrelated, differences }) {
      const code = differences > 0 ? 'REFUNDS_DIFFER' : 'REFUNDS_RECONCILED'
      const members = { work: 'refunds' as const, differences }
      const metric = metrics({ metric: differenceMetric, members })
      write('reconciled', differences > 0, { code, tenant, compared, unrelated, ...members, ...metric })
    },
  }
}

/** A fault as it is logged. */
export interface FaultDescription {
  name: string
  message?: string
  /** The innermost frames of the stack. */
  at: string[]
}

/** Returns the name, the stack and the message of a fault. A message that may quote a caller is left out. */
export function describeFault(fault: unknown): FaultDescription | undefined {
  if (fault === undefined) return undefined
  if (!(fault instanceof Error)) return { name: typeof fault, at: [] }
  const frames = (fault.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  const message = reportableMessage(fault)
  return {
    name: fault.name,
    ...(message !== undefined && { message }),
    at: frames.slice(0, 5).map((line) => line.trim()),
  }
}

/** Messages of the engine that contain names of the code only. */
const engineMessage =
  /^(Cannot (read|set) properties of (undefined|null) \((reading|setting) '\w{1,40}'\)|[\w.$]{1,80} is not (a function|a constructor|defined|iterable)|Invalid time value)$/

function reportableMessage(fault: Error): string | undefined {
  if (fault instanceof ReportableError) return fault.message
  if (fault instanceof Failure) return fault.code
  if (fault.name === 'ValiError') return invalidPaths(fault as Partial<ValidationError>)
  return engineMessage.test(fault.message) ? fault.message : undefined
}

/** The members of valibot's error that name fields and rules, and quote no value. */
interface ValidationError {
  issues: readonly { type: string; path?: readonly { key: unknown }[] }[]
}

/** Returns such as `amount_minor: safe_integer`. */
function invalidPaths({ issues = [] }: Partial<ValidationError>): string {
  return issues
    .map(({ type, path = [] }) => `${path.map(({ key }) => String(key)).join('.')}: ${type}`)
    .join(', ')
}

/** The service in each log line. */
export const serviceName = 'commerce-api'

/** The counter of errors, by error code. */
export const errorMetric = { name: 'errors', dimensions: ['error_code'], unit: 'Count' } as const

/**
 * The requests that the service failed, by operation and all together. Alarms count these and not the 5xx responses of the
 * gateway, because callers can cause 5xx responses. Each line has the members of both dimensions.
 */
export const failedRequestMetric = {
  name: 'failed_requests',
  dimensions: ['operation'],
  total: ['service'],
  unit: 'Count',
} as const

/** Failures of the service by function version. A deployment rolls back on this metric. */
export const failureMetric = {
  name: 'failures',
  dimensions: ['function_name', 'function_version'],
  unit: 'Count',
} as const

/** The age of the oldest unfinished work, by kind. */
export const ageMetric = { name: 'oldest_unfinished_seconds', dimensions: ['work'], unit: 'Seconds' } as const

/** The counter of alerts, by code. */
export const alertMetric = { name: 'alerts', dimensions: ['code'], unit: 'Count' } as const

/** The counter of received events without meaning here, by type; `other` for the types without a handler. */
const ignoredMetric = { name: 'ignored_events', dimensions: ['ignored_type'], unit: 'Count' } as const

/** The differences between the ledger and the records of a partner. */
export const differenceMetric = { name: 'differences', dimensions: ['work'], unit: 'Count' } as const

/** The kinds of work that a request starts and that finish after it. */
export type Work = 'imports' | 'refunds'

/** A metric, with its value and its dimensions as members of the log line. */
type MetricValue =
  | { metric: typeof errorMetric; members: { error_code: string; errors: number } }
  | { metric: typeof failedRequestMetric; members: { operation: string; failed_requests: number } }
  | {
      metric: typeof failureMetric
      members: { function_name: string; function_version: string; failures: number }
    }
  | { metric: typeof alertMetric; members: { code: AlertCode; alerts: number } }
  | { metric: typeof ignoredMetric; members: { ignored_type: string; ignored_events: number } }
  | { metric: typeof ageMetric; members: { work: Work; oldest_unfinished_seconds: number } }
  | { metric: typeof differenceMetric; members: { work: Work; differences: number } }

/**
 * Returns the members that make a log line a source of metrics, in CloudWatch's embedded metric format. CloudWatch
 * extracts them from the line, so no request waits for it.
 * @param at milliseconds since 1970
 */
function embedded(namespace: string, at: number, values: readonly MetricValue[]): object {
  if (values.length === 0) return {}
  const directives = values.map(({ metric }) => ({
    Namespace: namespace,
    Dimensions: 'total' in metric ? [metric.dimensions, metric.total] : [metric.dimensions],
    Metrics: [{ Name: metric.name, Unit: metric.unit }],
  }))
  const _aws = { Timestamp: at, CloudWatchMetrics: directives }
  return Object.assign({ _aws }, ...values.map(({ members }) => members))
}
