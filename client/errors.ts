import type { components } from './schema.ts'

export type ErrorBody = components['schemas']['Error']['error']
/** Every code that openapi.json names. A newer service may send others. */
export type ErrorCode = ErrorBody['code']

/** What every failed call tells: `instanceof CallError` catches them all. */
export class CallError extends Error {
  /** Sent with the same body again, it goes on with what this call may have begun; undefined for a read. */
  readonly idempotency_key: string | undefined

  constructor(message: string, key: string | null | undefined, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.idempotency_key = key ?? undefined
  }
}

/** The service refused the call or failed, and said so in its envelope (contract, 'Errors'). */
export class CommerceError extends CallError {
  readonly code: ErrorCode
  /** For looking up a text in the caller's language. */
  readonly message_id: string
  /** The status of the answer. */
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

/** An answer that is an error and carries no envelope: something between here and the service made it. */
export class BareAnswerError extends CallError {
  readonly response: Response

  constructor(response: Response, key?: string | null) {
    super(`${response.status} without an envelope`, key)
    this.response = response
  }
}

/** No answer came, or only a part of one: `cause` is what fetch threw. Whether there was an effect is unknown. */
export class ConnectionError extends CallError {}

/** No answer came in time. Whether there was an effect is unknown. */
export class TimeoutError extends CallError {}

/** The error of an answer's body, or undefined where it is no envelope. */
export function envelopeOf(body: unknown): ErrorBody | undefined {
  const { error } = (body ?? {}) as { error?: Partial<ErrorBody> }
  return typeof error?.code === 'string' ? (error as ErrorBody) : undefined
}
