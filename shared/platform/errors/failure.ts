import { catalogue, type ErrorCode, messageId } from './catalogue.ts'

/** Why one field was refused: `reason` is stable, the rest are the limits that it broke. */
export interface FieldProblem {
  reason: string
  min?: number
  max?: number
  regex?: string
  allowed?: readonly string[]
  actual?: string | number
}

export interface Details {
  fields?: Record<string, FieldProblem>
  [detail: string]: unknown
}

export interface FailureOptions {
  /** Overrides the status of the catalogue where the contract leaves a choice. */
  http?: number
  details?: Details
  headers?: Record<string, string>
  /** Sent as Retry-After, in whole seconds. A 503 without it gets the setting errors.retryAfterSeconds. */
  retryAfterSeconds?: number
  cause?: unknown
}

/** An answer other than success that the service means to give; anything else thrown is a fault of its own. */
export class Failure extends Error {
  override name = 'Failure'
  readonly code: ErrorCode
  readonly http: number
  readonly retryable: boolean
  readonly details: Details | undefined
  readonly headers: Record<string, string>

  constructor(code: ErrorCode, options: FailureOptions = {}) {
    super(code, { cause: options.cause })
    this.code = code
    this.http = options.http ?? catalogue[code].http
    this.retryable = catalogue[code].retryable
    this.details = options.details
    this.headers = { ...options.headers }
    const { retryAfterSeconds } = options
    if (retryAfterSeconds !== undefined) this.headers['Retry-After'] = String(retryAfterSeconds)
  }
}

/** Makes a failure to be thrown: `throw fail('CONFLICT.soft_deleted')`. */
export function fail(code: ErrorCode, options?: FailureOptions): Failure {
  return new Failure(code, options)
}

/** A failure of one field of the request. */
export function failField(code: ErrorCode, field: string, problem: FieldProblem): Failure {
  return new Failure(code, { details: { fields: { [shownName(field)]: problem } } })
}

const longestShownName = 64

/** Returns a caller's name for something as error details show it: at most 64 code points, well-formed Unicode. */
export function shownName(name: string): string {
  // A code point is two units at most, so the rest of a huge name is never split.
  return Array.from(name.slice(0, 2 * longestShownName))
    .slice(0, longestShownName)
    .join('')
    .toWellFormed()
}

/** The body of every error (contract, 'Errors', Envelope). */
export interface ErrorEnvelope {
  error: {
    code: string
    message_id: string
    http: number
    retryable: boolean
    correlation_id: string
    details: Details
  }
}

export function envelope(failure: Failure, correlationId: string): ErrorEnvelope {
  return {
    error: {
      code: failure.code,
      message_id: messageId(failure.code),
      http: failure.http,
      retryable: failure.retryable,
      correlation_id: correlationId,
      details: failure.details ?? {},
    },
  }
}

/** Whether the same call may succeed later. */
export function isRetryable(thrown: unknown): boolean {
  return thrown instanceof Failure && thrown.retryable
}
