import {
  AdminInitiateAuthCommand,
  type AdminInitiateAuthCommandOutput,
  CognitoIdentityProviderClient,
  ForgotPasswordCommand,
} from '@aws-sdk/client-cognito-identity-provider'
import { httpHandler } from '../platform/aws/http-handler.ts'
import { lazy } from '../platform/base/cached-load.ts'
import { type Failure, fail } from '../platform/base/failure.ts'
import type { WorkContext } from '../platform/request/context.ts'
import type { Settings } from '../settings/register.ts'
import type { IdentityProvider, SignedIn } from './identity-provider.ts'

/** Far above Cognito's usual latency, and within the time that callers wait. */
const attemptMilliseconds = 5000

// No retries: a second attempt counts as another wrong password, or sends another mail.
const client = lazy(
  () =>
    new CognitoIdentityProviderClient({
      maxAttempts: 1,
      requestHandler: httpHandler(attemptMilliseconds, { keepAlive: false }),
    }),
)

/** Returns the provider of the user pool that the stack passes to the function. */
export function deployedIdentityProvider({
  environment,
  settings,
}: Pick<WorkContext, 'environment' | 'settings'>): IdentityProvider {
  const userPoolId = environment('USER_POOL_ID') ?? ''
  return cognitoProvider({ userPoolId, clientId: environment('USER_POOL_CLIENT_ID') ?? '' }, settings)
}

/** The user pool of a deployment, from the environment of its functions. */
interface PoolClient {
  /** Needed only for logins. */
  userPoolId: string
  clientId: string
}

/**
 * A Cognito user pool. Only the role of the login function may log users in with a password (AdminInitiateAuth), so
 * nobody can bypass the throttle. The app client has no secret: users refresh their tokens at the pool themselves.
 */
export function cognitoProvider({ userPoolId, clientId }: PoolClient, settings: Settings): IdentityProvider {
  const cognito = client()
  return {
    async signIn({ email, password }, budget) {
      const command = new AdminInitiateAuthCommand({
        UserPoolId: userPoolId,
        AuthFlow: 'ADMIN_USER_PASSWORD_AUTH',
        ClientId: clientId,
        AuthParameters: { USERNAME: email, PASSWORD: password },
      })
      try {
        return signedIn(await cognito.send(command, { abortSignal: budget.signal }), settings)
      } catch (thrown) {
        const rejection = rejectionOf(thrown)
        if (rejection) return { rejection }
        throw outageOf(thrown)
      }
    },

    async sendReset(email, budget) {
      const command = new ForgotPasswordCommand({ ClientId: clientId, Username: email })
      try {
        await cognito.send(command, { abortSignal: budget.signal })
      } catch (thrown) {
        if (!isUndeliverable(thrown)) throw outageOf(thrown)
      }
    },
  }
}

function signedIn(output: AdminInitiateAuthCommandOutput, settings: Settings): SignedIn {
  const { ChallengeName: challenge, AuthenticationResult: result } = output
  if (challenge === 'NEW_PASSWORD_REQUIRED') return { rejection: newPasswordRequired() }
  if (challenge !== undefined) return { rejection: factorRequired(challenge, settings) }
  const { AccessToken, TokenType, ExpiresIn, RefreshToken } = result ?? {}
  if (!AccessToken || !RefreshToken || ExpiresIn === undefined) throw fail('DEPENDENCY.bad_gateway')
  return {
    tokens: {
      access_token: AccessToken,
      token_type: TokenType ?? 'Bearer',
      expires_in: ExpiresIn,
      refresh_token: RefreshToken,
    },
  }
}

interface ServiceError {
  name?: string
  message?: string
  code?: string
  $metadata?: { httpStatusCode?: number }
}

/** Errors about an app client or a flow are deployment mistakes, not rejections of a user. */
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
 * Returns the rejection for an error of Cognito; undefined if the error does not reject the user. All rejections are the
 * same, so callers without the password cannot distinguish the accounts.
 */
function rejectionOf(thrown: unknown): Failure | undefined {
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
function isUndeliverable(thrown: unknown): boolean {
  const { name = '', message = '' } = thrown as ServiceError
  return undeliverableErrors.has(name) && !deploymentError.test(message)
}

const timeoutErrors = new Set(['TimeoutError', 'AbortError'])
const overloadErrors = new Set([
  'TooManyRequestsException',
  // The web ACL of the pool, which counts requests for mails by address, that of the function among them.
  'ForbiddenException',
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
function outageOf(thrown: unknown): unknown {
  const error = thrown as ServiceError
  const isUnavailable =
    connectionErrors.has(error.code ?? '') ||
    overloadErrors.has(error.name ?? '') ||
    error.message === 'socket hang up' ||
    (error.$metadata?.httpStatusCode ?? 0) >= 500
  if (isUnavailable) return fail('DEPENDENCY.unavailable', { cause: thrown })
  return timeoutErrors.has(error.name ?? '') ? fail('DEPENDENCY.timeout', { cause: thrown }) : thrown
}

/** The only response while the password is not known to be right, whatever the state of the account. */
function wrongCredentials(): Failure {
  return fail('AUTH.invalid_credentials', { challenge: 'Bearer realm="commerce-api"' })
}

/** The password was right, but must be changed first. */
function newPasswordRequired(): Failure {
  return fail('POLICY.password.change_required')
}

/** The password was right, but another factor is required. The user proves it at the provider itself. */
function factorRequired(factor: string, settings: Settings): Failure {
  const { value } = settings['auth.mfa']
  const challenge = `Bearer realm="commerce-api", error="insufficient_user_authentication", acr_values="${value}"`
  return fail('POLICY.mfa.required', { details: { challenge: factor }, challenge })
}
