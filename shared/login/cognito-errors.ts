import { type Failure, fail } from '../platform/base/failure.ts'
import { wrongCredentials } from './sign-in-refusals.ts'

interface ServiceError {
  name?: string
  message?: string
  code?: string
  $metadata?: { httpStatusCode?: number }
}

/** Errors about an app client or a flow are deployment mistakes, not refusals of a user. */
const deploymentError = /\b(client|flow|secret)\b/i

/** Errors that Cognito may return before it checks the password; the first one also for disabled and locked users. */
const userErrors = new Set([
  'NotAuthorizedException',
  'UserNotFoundException',
  'UserNotConfirmedException',
  'PasswordResetRequiredException',
  'InvalidParameterException',
])

/**
 * Returns the refusal for an error of Cognito; undefined if the error does not refuse the user. All refusals are the
 * same, so callers without the password cannot distinguish the accounts.
 */
export function rejectionOf(thrown: unknown): Failure | undefined {
  const { name = '', message = '' } = thrown as ServiceError
  return userErrors.has(name) && !deploymentError.test(message) ? wrongCredentials() : undefined
}

const undeliverableErrors = new Set([
  'UserNotFoundException',
  'UserNotConfirmedException',
  'NotAuthorizedException',
  'InvalidParameterException',
  // Cognito limits the mails per user and hour.
  'LimitExceededException',
])

/** Returns whether no mail can be sent to this address now and a retry would not help. */
export function isUndeliverable(thrown: unknown): boolean {
  const { name = '', message = '' } = thrown as ServiceError
  return undeliverableErrors.has(name) && !deploymentError.test(message)
}

const timeoutErrors = new Set(['TimeoutError', 'AbortError'])
const overloadErrors = new Set([
  'TooManyRequestsException',
  'LimitExceededException',
  'ThrottlingException',
  'CodeDeliveryFailureException',
  // The trigger that adds the claims failed.
  'UserLambdaValidationException',
  'UnexpectedLambdaException',
  'InvalidLambdaResponseException',
])
/** The SDK also reports some of these as timeouts. */
const connectionErrors = new Set(['ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'EAI_AGAIN', 'ENOTFOUND'])

/** Maps an outage of Cognito to a failure for the caller. Returns any other error unchanged: it is a fault. */
export function outageOf(thrown: unknown): unknown {
  const error = thrown as ServiceError
  const away =
    connectionErrors.has(error.code ?? '') ||
    overloadErrors.has(error.name ?? '') ||
    error.message === 'socket hang up' ||
    (error.$metadata?.httpStatusCode ?? 0) >= 500
  if (away) return fail('DEPENDENCY.unavailable', { cause: thrown })
  return timeoutErrors.has(error.name ?? '') ? fail('DEPENDENCY.timeout', { cause: thrown }) : thrown
}
