import * as v from 'valibot'
import { verifyThrottles } from '#shared/otp/throttle.ts'
import { characters, Email } from '#shared/platform/formats/text.ts'
import { defineRoute } from '#shared/platform/request/route.ts'

export const route = defineRoute({
  operation: 'otp.verify',
  method: 'POST',
  path: '/otp/verify',
  summary: 'Verify a one-time code',
  description:
    'Starts a session for whoever has the latest code of an address, once, and sets its cookie and that of its CSRF token. A code that is wrong, used, expired, superseded or was tried too often, and an address that never asked for one, are answered alike.',
  auth: 'none',
  setsCookies: true,
  idempotency: 'accepted',
  confidential: true,
  throttle: verifyThrottles,
  payloadKilobytes: 16,
  latency: { p95: 300, p99: 800 },
  body: () => v.strictObject({ email: Email, code: v.pipe(v.string(), v.trim(), characters(1, 64)) }),
  example: () => ({ email: 'jane@example.com', code: '123456' }),
  reply: { status: () => 200, schema: () => v.strictObject({ session_id: v.string() }) },
  errors: ['VALIDATION.email', 'CODE.invalid'],
  openPoints: [
    'otp.code',
    'otp.sessionSeconds',
    'otp.user',
    'otp.sourceThrottle',
    'otp.dailyWrongAttempts',
    'auth.publicTenant',
  ],
  uses: ['table.read', 'table.write', 'secret.read'],
  impact: 'Nobody can log in with a one-time code.',
})
