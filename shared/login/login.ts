import * as v from 'valibot'
import { characters, Email } from '../platform/formats/text.ts'
import { openPoint, perSettings } from '../settings/per-settings.ts'

/** The limit of Cognito. */
const maxPasswordLength = 256

/** A password may hold any characters and is never normalized. */
export const Credentials = v.pipe(
  v.strictObject({ email: Email, password: v.pipe(v.string(), characters(1, maxPasswordLength)) }),
  v.title('Credentials'),
)

export const PasswordReset = v.pipe(v.strictObject({ email: Email }), v.title('PasswordReset'))

const tokenFields = {
  access_token: v.string(),
  token_type: v.string(),
  expires_in: v.pipe(v.number(), v.integer()),
  refresh_token: v.string(),
}

/** The response to a login, in the shape of the setting login.shape. */
export const TokensView = perSettings((settings) => {
  const fields = settings['login.shape'].fields.map((field) => [field, tokenFields[field]] as const)
  return v.pipe(v.strictObject(Object.fromEntries(fields)), openPoint('login.shape'), v.title('Tokens'))
})

/** The response to a password reset request. */
export const ResetView = perSettings((settings) => {
  const fields = settings['passwordReset.shape'].fields.map((field) => [field, v.string()] as const)
  return v.pipe(
    v.strictObject(Object.fromEntries(fields)),
    openPoint('passwordReset.shape'),
    v.title('PasswordResetStatus'),
  )
})
