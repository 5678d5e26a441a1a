import * as v from 'valibot'
import { viewSchema } from '../platform/base/resource.ts'
import { characters, Email } from '../platform/formats/text.ts'
import { perSettings } from '../settings/per-settings.ts'

/** The limit of Cognito. */
const maxPasswordLength = 256

/** A password may hold any characters and is never normalized. */
export const Credentials = v.pipe(
  v.strictObject({ email: Email, password: v.pipe(v.string(), characters(1, maxPasswordLength)) }),
  v.title('Credentials'),
)

export const PasswordReset = v.pipe(v.strictObject({ email: Email }), v.title('PasswordReset'))

/** The tokens of a login (RFC 6749 5.1), and its response in the shape of the setting login.shape. */
export const Tokens = perSettings((settings) =>
  viewSchema({
    title: 'Tokens',
    setting: 'login.shape',
    entries: {
      access_token: v.string(),
      token_type: v.string(),
      // Seconds.
      expires_in: v.pipe(v.number(), v.integer()),
      refresh_token: v.string(),
    },
    shown: settings['login.shape'].fields,
  }),
)
export type Tokens = v.InferInput<ReturnType<typeof Tokens>>

/** The response to a password reset request. */
export const ResetStatus = perSettings((settings) =>
  viewSchema({
    title: 'PasswordResetStatus',
    setting: 'passwordReset.shape',
    entries: { message_id: v.string() },
    shown: settings['passwordReset.shape'].fields,
  }),
)
export type ResetStatus = v.InferInput<ReturnType<typeof ResetStatus>>
