import { validMilliseconds } from '#shared/otp/code-item.ts'
import { verifyCode } from '#shared/otp/verify-code.ts'
import { httpFunction } from '#shared/platform/aws/http-function.ts'
import { readSecret } from '#shared/platform/aws/secrets-manager.ts'
import { timeOf } from '#shared/platform/base/clock.ts'
import { sessionCookies, sessionSecret } from '#shared/platform/identity/session.ts'
import { defineEndpoint } from '#shared/platform/request/endpoint.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  decide: ({ body }, context) => verifyCode(body, context),

  /**
   * Derives the cookie's secret from the session id and the login, so no idempotency record stores it and a retry after a lost
   * response still logs in. A replay after the code has expired gets the stored response without a cookie: a code
   * found in a mailbox later opens no session.
   */
  async cookies({ reply, input: { body } }, { settings, derivedKey, now }) {
    const session_id = String(reply.session_id)
    if (now() - timeOf(session_id) > validMilliseconds) return []
    const secret = sessionSecret(await derivedKey('sessions'), {
      session_id,
      login: [body.email, body.code],
    })
    return sessionCookies({ session_id, secret }, settings['otp.sessionSeconds'])
  },
})

export const handler = httpFunction(endpoint, { secret: readSecret })
