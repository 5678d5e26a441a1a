import { type Failure, fail } from '../platform/base/failure.ts'
import type { Settings } from '../settings/register.ts'

/** The reasons why a login gets no tokens. The body reveals no more than the code. */

/** The only response while the password is not known to be right, whatever the state of the account. */
export function wrongCredentials(): Failure {
  return fail('AUTH.invalid_credentials', { headers: { 'WWW-Authenticate': 'Bearer realm="commerce-api"' } })
}

/** The password was right, but the user belongs to no tenant. */
export function lockedAccount(): Failure {
  return fail('POLICY.account.locked')
}

/** The password was right, but must be changed first. */
export function newPasswordRequired(): Failure {
  return fail('POLICY.password.change_required')
}

/** The password was right, but another factor is required. The user proves it at the provider itself. */
export function factorRequired(challenge: string, settings: Settings): Failure {
  const { value } = settings['auth.mfa']
  const hint = `Bearer realm="commerce-api", error="insufficient_user_authentication", acr_values="${value}"`
  return fail('POLICY.mfa.required', { details: { challenge }, headers: { 'WWW-Authenticate': hint } })
}
