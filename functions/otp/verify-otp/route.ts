import * as v from 'valibot'
import { plainDigits } from '#shared/otp/code-digits.ts'
import { verifyThrottles } from '#shared/otp/throttle.ts'
import { characters, Email } from '#shared/platform/formats/text.ts'
import { defineRoute } from '#shared/platform/request/route.ts'
import { openPoint } from '#shared/settings/per-settings.ts'

const OtpVerification = v.pipe(
  v.strictObject({
    email: Email,
    code: v.pipe(v.string(), characters(1, 64), openPoint('otp.code'), v.transform(plainDigits)),
  }),
  v.title('OtpVerification'),
)
const Session = v.pipe(v.strictObject({ session_id: v.string() }), v.title('Session'))

export const route = defineRoute({
  operation: 'otp.verify',
  method: 'POST',
  path: '/otp/verify',
  summary: 'Verify a one-time code',
  description:
    'Starts a session if the code is valid, and sets the session cookie and the CSRF cookie. Blanks and hyphens in the code are ignored. A code works once; a replay sets the cookies again for five minutes. A wrong, used, expired or superseded code, too many attempts, and an address without a code get the same response.',
  auth: 'none',
  setsCookies: true,
  idempotency: 'accepted',
  confidential: true,
  throttle: verifyThrottles,
  payloadKilobytes: 16,
  latency: { p95: 300, p99: 800 },
  body: () => OtpVerification,
  example: () => ({ email: 'jane@example.com', code: '123456' }),
  reply: { status: () => 200, schema: () => Session },
  errors: ['VALIDATION.email', { code: 'CODE.invalid', stored: true }],
  uses: ['secret.hashes', 'secret.one_time_codes', 'secret.sessions'],
  table: { get: ['otp'], put: ['otp', 'session'] },
  impact: 'Nobody can log in with a one-time code.',
})
