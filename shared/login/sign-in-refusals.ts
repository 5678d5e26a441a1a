import { type Failure, fail } from '../platform/errors/failure.ts'
import type { Settings } from '../settings/register.ts'

/** Why there are no tokens, in the service's own words: the body tells no more than the code. */

/** The one answer while the password is not known to be right, whatever the state of the account. */
export function wrongCredentials(): Failure {
  return fail('AUTH.invalid_credentials', { headers: { 'WWW-Authenticate': 'Bearer realm="commerce-api"' } })
}

/** The password was right, but the user belongs to no tenant. */
export function lockedAccount(): Failure {
  return fail('POLICY.account.locked')
}

/** The password was right, and may only be used to set another. */
export function newPasswordRequired(): Failure {
  return fail('POLICY.password.change_required')
}

/** The password was right, and another factor is asked for, which is proven at the provider itself. */
export function factorRequired(challenge: string, settings: Settings): Failure {
  const { value } = settings['auth.mfa']
  const hint = `Bearer realm="commerce-api", error="insufficient_user_authentication", acr_values="${value}"`
  return fail('POLICY.mfa.required', { details: { challenge }, headers: { 'WWW-Authenticate': hint } })
}
