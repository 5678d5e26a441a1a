import { type ErrorCode, messageId } from '../../error-catalog.ts'
import { systemClock, timestamp } from './clock.ts'
import type { Correlation } from './correlation.ts'
import { describeFault, Failure } from './failure.ts'
import {
  ageMetric,
  alertMetric,
  differenceMetric,
  embedded,
  failedRequestMetric,
  failureMetric,
  type MetricValue,
  probeMetric,
} from './metrics.ts'
import type { Units } from './units.ts'

/** The code of a log line, stable for searches and metrics. */
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
  | 'WORK_PENDING'
  | 'EVENT_NOT_FANNED_OUT'
  | 'DELIVERY_NOT_MADE'
  | 'SUBSCRIBER_HEALTH_NOT_RECORDED'
  | 'DELIVERIES_QUEUED'
  | 'DELIVERIES_LEFT'
  | 'REFUNDS_RECONCILED'
  | 'REFUNDS_DIFFER'
  | 'REFUNDS_NOT_RECONCILED'
  | 'PROBE_SUCCEEDED'
  | 'PROBE_FAILED'

/** What an operator must look at, each with its alarm. */
export type AlertCode =
  | 'REFUND_PAID_LATE'
  | 'PROVIDER_ACCOUNT_LOST'
  | 'SUBSCRIBER_DISABLED'
  | 'CARRIER_REFUSED'
/** A tenant, with its subscriber if the alert is about one; or an event or a task, and the kind of the item that carried it. */
export type AlertSubject = { tenant: string; subscriber?: string } | { kind: string; carried: string }

/** The kinds of work that a request starts and that finish after it. Only the payment provider settles an unsettled refund. */
export type WorkKind = 'imports' | 'refunds' | 'unsettled_refunds' | 'deliveries'

/** One request. Of the caller's data, it contains the correlation, the tenant, and the ids of the API key and of the mail only. */
export interface RequestLine {
  operation: string
  /** What its failures count for (see `alarmGroupOf`). */
  watched: string
  /** Of the credential; absent without one. */
  tenant?: string | undefined
  /** The id of the API key, if the credential is one. */
  apiKey?: string | undefined
  /** The id of the message that it mails. Nothing else leads from the request to the mail, which is kept for a day. */
  mail?: string | undefined
  /** The keyed hash of the source of an anonymous request. */
  source?: string | undefined
  status: number
  failure: Failure | undefined
  correlation: Correlation
  durationMilliseconds: number
  /** The caller caused the 5xx, which is no failure of the service then. */
  causedByCaller?: boolean
  /** What the request consumed of the table, as DynamoDB bills it. */
  units?: Units
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
  correlation: Correlation
  /** The error that prevented it; absent if the event has no meaning here. */
  fault?: unknown
}

/** Work that no caller waits for. */
export interface JobLine {
  code: LogCode
  done: number
  failed: number
  /** Work that a decision of its tenant refused, which is no failure. */
  refused?: number
  fault?: unknown
  /** The id of the queue's message, which it keeps as a dead letter. */
  message_id?: string
  /** The number of the attempt, from 1. */
  attempt?: number
}

/** Structured logs, one line for each call. They contain no body, header, subject or id of a resource but that of a mail. */
export interface Log {
  request(line: RequestLine): void
  report(notice: LogReport): void
  /** Logs and counts what an alarm reports, and what it is about. */
  alert(code: AlertCode, correlation: Correlation, about: AlertSubject): void
  relay(line: { code: LogCode; published: number; set_aside?: number; failed: number; fault?: unknown }): void
  /** Logs a received event that failed, or one that was ignored. */
  event(line: EventLine): void
  /** Logs background work: how much of it failed, and why. */
  job(line: JobLine): void
  /** Logs the age of the oldest pending work. */
  pending(work: WorkKind, seconds: number): void
  /** Logs a comparison of a tenant's ledger with the refunds of the payment provider. */
  reconciled(line: {
    tenant: string
    account: string
    compared: number
    unrelated: number
    differences: number
  }): void
  /** Logs a call of the public address with its fault, if there is one. Counts a call that succeeded. */
  probed(fault?: unknown): void
}

/** Writes one line. */
type WriteLine = (message: string, failed: boolean, fields: Record<string, unknown>) => void

/** Returns a log that writes each call as a line of JSON by itself. An HTTP function logs before its caller may go on. */
export function jsonLog(service: string, environment: NodeJS.ProcessEnv = {}): Log {
  const write: WriteLine = (message, failed, fields) => {
    const level = failed ? 'ERROR' : 'INFO'
    // Lambda sets it for each invocation: `Root=1-…;Parent=…;Sampled=1`.
    const [, xray_trace_id] = /Root=([^;]+)/.exec(environment._X_AMZN_TRACE_ID ?? '') ?? []
    const line = {
      level,
      message,
      timestamp: timestamp(systemClock.now()),
      service,
      xray_trace_id,
      ...fields,
    }
    process.stdout.write(`${JSON.stringify(line)}\n`)
  }
  return logOf(write, environment)
}

/**
 * Returns the log that writes its lines this way. If METRICS_NAMESPACE is set, the log also emits metrics there: failed
 * requests, failures by function version, alerts by code, the age of pending work, differences from the records of a partner,
 * and successful probes.
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
  // Only functions behind the gateway are rolled back by it.
  const failureOfVersion: MetricValue[] =
    function_name && function_version
      ? [{ metric: failureMetric, members: { function_name, function_version, failures: 1 } }]
      : []

  function batch(message: string, { fault, ...line }: { failed: number; fault?: unknown }): void {
    write(message, line.failed > 0, { ...line, fault: describe(fault) })
  }

  return {
    request(line) {
      const { operation, tenant, apiKey, mail, source, status, failure, correlation, durationMilliseconds } =
        line
      const { watched, units, causedByCaller = false } = line
      const failed = status >= 500 && !causedByCaller
      const failedRequest = { metric: failedRequestMetric, members: { watched, failed_requests: 1 } }
      write('request', failed, {
        code: failed ? 'REQUEST_FAILED' : failure ? 'REQUEST_REFUSED' : 'REQUEST_ANSWERED',
        operation,
        tenant,
        api_key: apiKey,
        mail,
        source,
        status,
        duration_milliseconds: durationMilliseconds,
        correlation_id: correlation.id,
        // Baggage and tracestate contain arbitrary data of callers, so they are not logged.
        traceparent: correlation.trace.traceparent,
        error_code: failure?.code,
        message_id: failure && messageId(failure.code),
        ...(causedByCaller && { caused_by_caller: true }),
        ...(units && { read_units: units.read, write_units: units.write }),
        ...(failed && { watched, ...metrics(failedRequest, ...failureOfVersion) }),
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
        ...(fault !== undefined && { fault: describe(fault) }),
      })
    },
    alert(code, correlation, about) {
      const metric = metrics({ metric: alertMetric, members: { code, alerts: 1 } })
      write('alert', true, { code, correlation_id: correlation.id, ...about, ...metric })
    },
    event({ code, eventId, eventType, correlation, fault }) {
      write('event', fault !== undefined, {
        code,
        event_id: eventId,
        event_type: eventType,
        correlation_id: correlation.id,
        ...(fault !== undefined && {
          error_code: fault instanceof Failure ? fault.code : undefined,
          fault: describe(fault),
        }),
      })
    },
    relay: (line) => batch('relay', line),
    job: (line) => batch('work', line),
    pending(work, seconds) {
      const members = { work, oldest_pending_seconds: seconds }
      const metric = metrics({ metric: ageMetric, members })
      write('pending', false, { code: 'WORK_PENDING', ...members, ...metric })
    },
    reconciled({ tenant, account, compared, unrelated, differences }) {
      const code = differences > 0 ? 'REFUNDS_DIFFER' : 'REFUNDS_RECONCILED'
      const members = { work: 'refunds' as const, differences }
      const metric = metrics({ metric: differenceMetric, members })
      write('reconciled', differences > 0, {
        code,
        tenant,
        account,
        compared,
        unrelated,
        ...members,
        ...metric,
      })
    },
    probed(fault) {
      const failed = fault !== undefined
      const members = { successful_probes: failed ? 0 : 1 }
      const metric = metrics({ metric: probeMetric, members })
      const code = failed ? 'PROBE_FAILED' : 'PROBE_SUCCEEDED'
      write('probe', failed, { code, fault: describe(fault), ...members, ...metric })
    },
  }
}
