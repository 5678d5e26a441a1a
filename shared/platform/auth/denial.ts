import type { ErrorCode } from '../errors/catalogue.ts'
import type { Failure } from '../errors/failure.ts'

/** A failure that is audited under a reason which its answer may hide, such as the existence of a foreign item. */
export class Denial extends Error {
  override name = 'Denial'
  readonly failure: Failure
  readonly reason: ErrorCode
  /** The kind of resource, with its id only where it is the caller's own tenant's: `code/…`. */
  readonly target: string

  constructor(failure: Failure, reason: ErrorCode, target: string) {
    super(failure.code)
    this.failure = failure
    this.reason = reason
    this.target = target
  }
}
