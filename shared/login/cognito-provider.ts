import {
  AdminInitiateAuthCommand,
  type AdminInitiateAuthCommandOutput,
  CognitoIdentityProviderClient,
  ForgotPasswordCommand,
} from '@aws-sdk/client-cognito-identity-provider'
import { lazy } from '../platform/base/cached-load.ts'
import type { Budget } from '../platform/base/clock.ts'
import { fail } from '../platform/base/failure.ts'
import type { WorkContext } from '../platform/request/context.ts'
import type { Settings } from '../settings/register.ts'
import { isUndeliverable, outageOf, rejectionOf } from './cognito-errors.ts'
import type { IdentityProvider, SignedIn } from './identity-provider.ts'
import { factorRequired, newPasswordRequired } from './sign-in-refusals.ts'

/** Far above Cognito's usual latency, and within the time that callers wait. */
const attemptMilliseconds = 5000

// No retries: a second attempt counts as another wrong password, or sends another mail.
const client = lazy(
  () => new CognitoIdentityProviderClient({ maxAttempts: 1, requestHandler: { connectionTimeout: 1000 } }),
)

/** Returns the provider of the user pool that the stack passes to the function. */
export function deployedProvider({ environment, settings }: WorkContext): IdentityProvider {
  const userPoolId = environment('USER_POOL_ID') ?? ''
  return cognitoProvider({ userPoolId, clientId: environment('USER_POOL_CLIENT_ID') ?? '' }, settings)
}

/** The user pool of a deployment, from the environment of its functions. */
export interface PoolClient {
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
        AuthFlow: settings['login.provider'].flow,
        ClientId: clientId,
        AuthParameters: { USERNAME: email, PASSWORD: password },
      })
      try {
        return outcomeOf(await cognito.send(command, { abortSignal: within(budget) }), settings)
      } catch (thrown) {
        const rejection = rejectionOf(thrown)
        if (rejection) return { rejection }
        throw outageOf(thrown)
      }
    },

    async sendReset(email, budget) {
      const command = new ForgotPasswordCommand({ ClientId: clientId, Username: email })
      try {
        await cognito.send(command, { abortSignal: within(budget) })
      } catch (thrown) {
        if (!isUndeliverable(thrown)) throw outageOf(thrown)
      }
    },
  }
}

function within(budget: Budget): AbortSignal {
  budget.check()
  return AbortSignal.any([budget.signal, AbortSignal.timeout(attemptMilliseconds)])
}

function outcomeOf(output: AdminInitiateAuthCommandOutput, settings: Settings): SignedIn {
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
