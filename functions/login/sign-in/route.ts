import { Credentials, Tokens } from '#shared/login/login.ts'
import { throttlesBy } from '#shared/login/throttle.ts'
import { defineRoute } from '#shared/platform/request/route.ts'

/** Ignores Idempotency-Key, because its record would store the tokens for a day. A login sent twice is two logins. */
export const route = defineRoute({
  operation: 'login.sign-in',
  method: 'POST',
  path: '/login',
  summary: 'Log in with a password',
  description:
    'Returns the tokens of a user. A wrong password, an unknown e-mail address and an account that is disabled, locked or needs a new password get the same response. A second factor or a new password is entered at the identity provider. An Idempotency-Key is ignored, because tokens are not stored for a replay. Too many logins from one address on the network get a CAPTCHA: 405 with the header x-amzn-waf-action: captcha, without the error envelope.',
  auth: 'none',
  idempotency: 'none',
  confidential: true,
  throttle: (settings) =>
    throttlesBy(settings['login.countBy'], {
      // Ten a minute on average over any five minutes.
      limit: 50,
      windowSeconds: 300,
      details: { [settings['login.captcha'].detail]: true },
    }),
  body: () => Credentials,
  example: () => ({ email: 'jane@example.com', password: 'a long one, with 1 digit and Capitals' }),
  reply: { status: (settings) => settings['login.shape'].status, schema: Tokens },
  errors: [
    'VALIDATION.email',
    'AUTH.invalid_credentials',
    'POLICY.account.locked',
    'POLICY.mfa.required',
    'POLICY.password.change_required',
  ],
  uses: ['secret.hashes', 'pool.client', 'pool.login'],
  table: { put: ['login'] },
  impact: 'Nobody can log in with a password.',
})
