import * as v from 'valibot'
import { requestThrottles } from '#shared/otp/throttle.ts'
import { Email } from '#shared/platform/formats/text.ts'
import { defineRoute } from '#shared/platform/request/route.ts'

export const route = defineRoute({
  operation: 'otp.request',
  method: 'POST',
  path: '/otp/request',
  summary: 'Request a one-time code',
  description:
    'Sends a code to an e-mail address, valid for five minutes; only the latest one is. Every address is answered alike.',
  auth: 'none',
  idempotency: 'accepted',
  confidential: true,
  throttle: requestThrottles,
  body: () => v.strictObject({ email: Email }),
  example: () => ({ email: 'jane@example.com' }),
  reply: { status: () => 202, schema: () => v.strictObject({ message_id: v.string() }) },
  errors: ['VALIDATION.email'],
  uses: ['table.read', 'table.write', 'secret.read'],
  impact: 'Nobody can ask for a one-time code, so nobody can log in with one.',
})
