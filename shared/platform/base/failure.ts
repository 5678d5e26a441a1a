import { type ErrorCode, errorCatalog, messageId } from '../../error-catalog.ts'

/**
 * The problem with a field: `reason` is stable, `actual` is what the caller sent, and the other members are what would be
 * valid. `actual` never quotes a text, because it may be personal or secret, except a time.
 */
export interface FieldProblem {
  reason: string
  min?: number
  max?: number
  regex?: string
  allowed?: readonly string[]
  integer?: true
  /** A JSON type. */
  type?: string
  /** The earliest valid time. */
  not_before?: string
  /** The latest valid time. */
  not_after?: string
  /**
   * The JSON type, where the type is wrong or the field may not be sent; else a number or time itself, or the length of any
   * other text or of a list. `absent` without any.
   */
  actual?: string | number
}

export interface Details {
  fields?: Record<string, FieldProblem & { code: ErrorCode }>
  [detail: string]: unknown
}

interface FailureOptions {
  /** Overrides the status of the catalog, for a code with several statuses. */
  http?: number
  details?: Details
  headers?: Record<string, string>
  /** The value of WWW-Authenticate. The details repeat it, because API Gateway renames this header of functions. */
  challenge?: string
  /** Sent as Retry-After, in whole seconds. A 503 without it gets a random time of the setting errors.retryAfterSeconds. */
  retryAfterSeconds?: number
  cause?: unknown
  /** Callers can cause it at will, so even with 5xx it is no failure of the service. */
  causedByCaller?: boolean
  /** A decision of the tenant, such as that of an account's owner who ended the access of the service. Also caused by callers. */
  refusedByTenant?: boolean
}

/** An intended error response. Anything else that is thrown is a fault of the service. */
export class Failure extends Error {
  override name = 'Failure'
  readonly code: ErrorCode
  readonly http: number
  readonly retryable: boolean
  readonly details: Details | undefined
  readonly headers: Record<string, string>
  readonly causedByCaller: boolean
  readonly refusedByTenant: boolean

  constructor(code: ErrorCode, options: FailureOptions = {}) {
    super(code, { cause: options.cause })
    this.code = code
    this.http = options.http ?? errorCatalog[code].http
    this.retryable = errorCatalog[code].retryable
    const { challenge, retryAfterSeconds } = options
    this.details =
      challenge === undefined ? options.details : { ...options.details, www_authenticate: challenge }
    this.headers = { ...options.headers }
    this.refusedByTenant = options.refusedByTenant ?? false
    this.causedByCaller = options.causedByCaller ?? this.refusedByTenant
    if (challenge !== undefined) this.headers['WWW-Authenticate'] = challenge
    if (retryAfterSeconds !== undefined) this.headers['Retry-After'] = String(retryAfterSeconds)
  }
}

/** Returns a failure to throw: `throw fail('CONFLICT.soft_deleted')`. */
export function fail(code: ErrorCode, options?: FailureOptions): Failure {
  return new Failure(code, options)
}

/** Returns a failure of one field of the request. */
export function failField(
  code: ErrorCode,
  field: string,
  problem: FieldProblem,
  options: Omit<FailureOptions, 'details'> = {},
): Failure {
  return new Failure(code, {
    ...options,
    details: { fields: { [displayName(field)]: { code, ...problem } } },
  })
}

/**
 * A character that a reader does not see or that changes the order of others: controls, format characters such as those
 * of bidirectional text, ends of lines, lone surrogates, and all that Unicode lets a program leave out. Text that names
 * an actor or a reason has none, because what it shows could be another text.
 */
export const unseenCharacter = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u

const maxNameLength = 64

/** Returns a name from the caller for error details: at most 64 code points, well-formed Unicode. */
export function displayName(name: string): string {
  // A code point has at most two UTF-16 units, so the rest of a huge name is not processed.
  return Array.from(name.slice(0, 2 * maxNameLength))
    .slice(0, maxNameLength)
    .join('')
    .toWellFormed()
}

/** The body of every error response. */
export interface ErrorEnvelope {
  error: {
    code: string
    message_id: string
    http: number
    retryable: boolean
    correlation_id: string
    details: Details
    docs?: string
  }
}

/** @param page the address of the page of errors, where each code has a row (setting errors.docs) */
export function envelope(failure: Failure, correlationId: string, page: string | null): ErrorEnvelope {
  return {
    error: {
      code: failure.code,
      message_id: messageId(failure.code),
      http: failure.http,
      retryable: failure.retryable,
      correlation_id: correlationId,
      details: failure.details ?? {},
      ...(page !== null && { docs: `${page}#${failure.code}` }),
    },
  }
}

/** Returns whether the same call may succeed later. */
export function isRetryable(thrown: unknown): boolean {
  return thrown instanceof Failure && thrown.retryable
}

/** An error whose message is logged. It says what is wrong, and quotes neither input nor secrets. */
export class ReportableError extends Error {
  override name = 'ReportableError'
}

/** A mistake of the operator. Its message says what to correct. */
export class ConfigurationError extends ReportableError {
  override name = 'ConfigurationError'
}

/** A failure whose audited reason the response may hide, such as the existence of another tenant's item. */
export class Denial extends Error {
  override name = 'Denial'
  readonly failure: Failure
  readonly reason: ErrorCode
  /** The kind of resource, with its id only if it belongs to the caller's tenant: `code/…`. */
  readonly target: string

  constructor(failure: Failure, reason: ErrorCode, target: string) {
    super(failure.code)
    this.failure = failure
    this.reason = reason
    this.target = target
  }
}

/** Returns a thrown value as a failure: INTERNAL.unexpected if it is none. */
export function toFailure(thrown: unknown): Failure {
  return thrown instanceof Failure ? thrown : fail('INTERNAL.unexpected', { cause: thrown })
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
  const message = reportableMessage(fault)
  return {
    name: fault.name,
    ...(message !== undefined && { message }),
    at: framesOf(fault)
      .slice(0, 5)
      .map((line) => line.trim()),
  }
}

/** Returns the frames of a stack, which begins with the message. A message may have lines that look like frames. */
function framesOf({ stack = '', message = '' }: Error): string[] {
  const from = stack.indexOf(message)
  const frames = stack.slice(from < 0 ? 0 : from + message.length)
  return frames.split('\n').filter((line) => /^\s+at /.test(line))
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
