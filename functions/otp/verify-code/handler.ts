import { validMilliseconds } from '#shared/otp/one-time-code.ts'
import { verifyCode } from '#shared/otp/verify-code.ts'
import { sessionKeyPurpose, sessionSecret } from '#shared/platform/auth/session.ts'
import { sessionCookies } from '#shared/platform/auth/session-cookie.ts'
import { defineEndpoint } from '#shared/platform/http/endpoint.ts'
import { lambda } from '#shared/platform/http/lambda.ts'
import { timeOf } from '#shared/platform/ids/uuid-v7.ts'
import { deploymentSecret } from '#shared/platform/secrets/deployment-secret.ts'
import { route } from './route.ts'

export const endpoint = defineEndpoint(route, {
  perform: async ({ body }, context) => verifyCode(body, context),

  /**
   * Derives the cookie's secret from the session id, so no idempotency record stores it and a retry after a lost
   * response still logs in. A replay after the code has expired gets the stored response without a cookie: a code
   * found in a mailbox later opens no session.
   */
  async cookies({ session_id: given }, { settings, derivedKey, now }) {
    const session_id = String(given)
    if (now() - timeOf(session_id) > validMilliseconds) return []
    const secret = sessionSecret(await derivedKey(sessionKeyPurpose), session_id)
    return sessionCookies({ session_id, secret }, settings['otp.sessionSeconds'])
  },
})

export const handler = lambda(endpoint, { deploymentSecret })
