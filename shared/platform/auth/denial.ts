import type { ErrorCode } from '../errors/catalogue.ts'
import type { Failure } from '../errors/failure.ts'

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
