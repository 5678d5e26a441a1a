import type { Budget } from '../platform/base/clock.ts'
import type { Failure } from '../platform/base/failure.ts'
import type { Tokens } from './login.ts'

export interface Credentials {
  email: string
  password: string
}

/** The tokens, or the rejection for the caller. */
export type SignedIn = { tokens: Tokens } | { rejection: Failure }

/** The service that holds users and passwords. Every call is one attempt within the request's budget. */
export interface IdentityProvider {
  /** @throws DEPENDENCY.unavailable, DEPENDENCY.timeout */
  signIn(credentials: Credentials, budget: Budget): Promise<SignedIn>
  /**
   * Sends the mail with which a user sets a new password. Sends and reports nothing if no user has this e-mail or may
   * set a password.
   * @throws DEPENDENCY.unavailable, DEPENDENCY.timeout
   */
  sendReset(email: string, budget: Budget): Promise<void>
}
