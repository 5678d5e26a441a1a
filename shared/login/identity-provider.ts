import type { Failure } from '../platform/errors/failure.ts'
import type { Budget } from '../platform/limits/budget.ts'

export interface Credentials {
  email: string
  password: string
}

/** What a login gives (RFC 6749 5.1). */
export interface Tokens {
  access_token: string
  token_type: string
  /** Seconds. */
  expires_in: number
  refresh_token: string
}

/** Tokens, or why there are none, as it may be told to whoever tried. */
export type SignedIn = { tokens: Tokens } | { refused: Failure }

/** Who knows the users and their passwords. Every call is one attempt, inside the request's budget. */
export interface IdentityProvider {
  /** @throws DEPENDENCY.unavailable, DEPENDENCY.timeout */
  signIn(credentials: Credentials, budget: Budget): Promise<SignedIn>
  /**
   * Sends the mail by which a user sets a new password. Where nobody has this e-mail, or may not set one, nothing is
   * sent and nothing is told.
   * @throws DEPENDENCY.unavailable, DEPENDENCY.timeout
   */
  sendReset(email: string, budget: Budget): Promise<void>
}
