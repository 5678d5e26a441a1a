import { type Failure, fail } from '../platform/errors/failure.ts'
import { wrongCredentials } from './sign-in-refusals.ts'

interface ServiceError {
  name?: string
  message?: string
  code?: string
  $metadata?: { httpStatusCode?: number }
}

/** What Cognito says of an app client or a flow is a mistake of the deployment, and no refusal of a user. */
const ofTheDeployment = /\b(client|flow|secret)\b/i

/** Errors that Cognito may return before it has checked the password, the first for disabled and locked users too. */
const ofUsers = new Set([
  'NotAuthorizedException',
  'UserNotFoundException',
  'UserNotConfirmedException',
  'PasswordResetRequiredException',
  'InvalidParameterException',
])

/**
 * The refusal for an error of Cognito; undefined if the error does not refuse the user. All refusals are the same, so
 * that callers without the password cannot distinguish the accounts.
 */
export function refusalOf(thrown: unknown): Failure | undefined {
  const { name = '', message = '' } = thrown as ServiceError
  return ofUsers.has(name) && !ofTheDeployment.test(message) ? wrongCredentials() : undefined
}

const withoutMail = new Set([
  'UserNotFoundException',
  'UserNotConfirmedException',
  'NotAuthorizedException',
  'InvalidParameterException',
  // Cognito sends a user only so many mails an hour.
  'LimitExceededException',
])

/** True when there is nobody to whom a mail may be sent now, which no later try would change. */
export function hasNobodyToMail(thrown: unknown): boolean {
  const { name = '', message = '' } = thrown as ServiceError
  return withoutMail.has(name) && !ofTheDeployment.test(message)
}

const slow = new Set(['TimeoutError', 'AbortError'])
const busy = new Set([
  'TooManyRequestsException',
  'LimitExceededException',
  'ThrottlingException',
  'CodeDeliveryFailureException',
  // Its trigger failed, which adds the claims.
  'UserLambdaValidationException',
  'UnexpectedLambdaException',
  'InvalidLambdaResponseException',
])
/** The SDK calls some of these a timeout, too. */
const broken = new Set(['ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'EAI_AGAIN', 'ENOTFOUND'])

/** What it means to a caller that Cognito did not answer; whatever is nobody's momentary trouble stays a fault. */
export function outOfReach(thrown: unknown): unknown {
  const error = thrown as ServiceError
  const away =
    broken.has(error.code ?? '') ||
    busy.has(error.name ?? '') ||
    error.message === 'socket hang up' ||
    (error.$metadata?.httpStatusCode ?? 0) >= 500
  if (away) return fail('DEPENDENCY.unavailable', { cause: thrown })
  return slow.has(error.name ?? '') ? fail('DEPENDENCY.timeout', { cause: thrown }) : thrown
}
