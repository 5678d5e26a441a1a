import * as v from 'valibot'
import { characters } from '../platform/schemas/characters.ts'
import { Email } from '../platform/schemas/email.ts'
import { openPoint } from '../platform/settings/open-point.ts'
import { perSettings } from '../platform/settings/per-settings.ts'

/** As Cognito has it. */
const longestPassword = 256

/** A password is whatever its owner chose: any characters, none of them changed. */
export const Credentials = v.strictObject({
  email: Email,
  password: v.pipe(v.string(), characters(1, longestPassword)),
})

export const ResetRequested = v.strictObject({ email: Email })

const tokenFields = {
  access_token: v.string(),
  token_type: v.string(),
  expires_in: v.pipe(v.number(), v.integer()),
  refresh_token: v.string(),
}

/** The answer to a login, in the shape that the deployment chose. */
export const TokensView = perSettings((settings) => {
  const fields = settings['login.shape'].fields.map((field) => [field, tokenFields[field]] as const)
  return v.pipe(v.strictObject(Object.fromEntries(fields)), openPoint('login.shape'))
})

/** The answer to whoever asks for a new password. */
export const ResetView = perSettings((settings) => {
  const fields = settings['passwordReset.shape'].fields.map((field) => [field, v.string()] as const)
  return v.pipe(v.strictObject(Object.fromEntries(fields)), openPoint('passwordReset.shape'))
})
