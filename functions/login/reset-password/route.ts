import { PasswordReset, ResetStatus } from '#shared/login/login.ts'
import { throttlesBy } from '#shared/login/throttle.ts'
import { defineRoute } from '#shared/platform/request/route.ts'

export const route = defineRoute({
  operation: 'login.reset-password',
  method: 'POST',
  path: '/password/reset',
  summary: 'Request a password reset',
  description:
    'Sends a mail with a code that lets a user set a new password at the identity provider. Every e-mail address gets the same response; whether a user has it is checked only afterwards.',
  auth: 'none',
  idempotency: 'accepted',
  confidential: true,
  // Five a minute on average over any ten minutes.
  throttle: (settings) => throttlesBy(settings['passwordReset.countBy'], { limit: 50, windowSeconds: 600 }),
  body: () => PasswordReset,
  example: () => ({ email: 'jane@example.com' }),
  reply: { status: (settings) => settings['passwordReset.shape'].status, schema: ResetStatus },
  errors: ['VALIDATION.email'],
  uses: ['secret.hashes', 'secret.resets'],
  table: { put: ['password_reset'] },
  impact: 'Nobody can request a password reset.',
})
