import * as v from 'valibot'
import { requestThrottles } from '#shared/otp/throttle.ts'
import { Email } from '#shared/platform/formats/text.ts'
import { defineRoute } from '#shared/platform/request/route.ts'

const OtpRequest = v.pipe(v.strictObject({ email: Email }), v.title('OtpRequest'))
const OtpStatus = v.pipe(v.strictObject({ message_id: v.string() }), v.title('OtpStatus'))

export const route = defineRoute({
  operation: 'otp.request',
  method: 'POST',
  path: '/otp/request',
  summary: 'Request a one-time code',
  description:
    'Sends a code to an e-mail address. The code is valid for five minutes. A new request from the same address on the network sends a new code, which replaces it. A request from another one sends the same code again. Every e-mail address gets the same response.',
  auth: 'none',
  idempotency: 'accepted',
  confidential: true,
  mails: true,
  throttle: requestThrottles,
  body: () => OtpRequest,
  example: () => ({ email: 'jane@example.com' }),
  reply: { status: () => 202, schema: () => OtpStatus },
  errors: ['VALIDATION.email'],
  uses: ['secret.hashes', 'secret.mails'],
  table: { get: ['otp'], put: ['mail', 'otp'] },
  impact: 'No one-time code can be requested, so nobody can log in with one.',
})
