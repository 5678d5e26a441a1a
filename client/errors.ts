import type { ErrorBody, KnownErrorCode } from './schema.ts'

/** The error codes in openapi.json. A newer service may send others. */
export type ErrorCode = KnownErrorCode | (string & {})

/**
 * The base class of all failed calls: `instanceof CallError` catches every one. An error of this class itself says that
 * the caller's own code failed, such as the token function. `cause` is its error, and the effect is unknown.
 */
export class CallError extends Error {
  /**
   * The key of the call; undefined for a read. Resending the same body with it continues what this call may have
   * started.
   */
  readonly idempotency_key: string | undefined

  constructor(message: string, key: string | null | undefined, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.idempotency_key = key ?? undefined
  }
}

/** An error that the service returned in its error envelope. */
export class CommerceError extends CallError {
  readonly code: ErrorCode
  /** The message key for localized texts. */
  readonly message_id: string
  /** The HTTP status of the response. */
  readonly http: number
  readonly retryable: boolean
  readonly correlation_id: string
  readonly details: ErrorBody['details']
  readonly response: Response

  constructor(body: ErrorBody, response: Response, key?: string | null) {
    super(`${body.http} ${body.code}`, key)
    this.code = body.code
    this.message_id = body.message_id
    this.http = body.http
    this.retryable = body.retryable
    this.correlation_id = body.correlation_id
    this.details = body.details
    this.response = response
  }
}

/**
 * A response of an intermediary between the client and the service: an error without an envelope, or a success that is
 * neither JSON nor CSV. Whether the call had an effect is unknown.
 */
export class BareAnswerError extends CallError {
  readonly response: Response

  constructor(response: Response, key?: string | null, options?: ErrorOptions) {
    super(`${response.status} without ${response.ok ? 'JSON' : 'an envelope'}`, key, options)
    this.response = response
  }
}

/** The connection failed or broke during the response; `cause` is the error of fetch. The effect is unknown. */
export class ConnectionError extends CallError {}

/** No response arrived in time. Whether the call had an effect is unknown. */
export class TimeoutError extends CallError {}

/** The signal of the caller ended the call; `cause` is its reason. Whether the call had an effect is unknown. */
export class CanceledError extends CallError {}

/** Returns the error of a response body; undefined if the body is no envelope. */
export function envelopeOf(body: unknown): ErrorBody | undefined {
  const { error } = (body ?? {}) as { error?: Partial<ErrorBody> }
  return typeof error?.code === 'string' ? (error as ErrorBody) : undefined
}
