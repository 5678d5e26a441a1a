import * as v from 'valibot'
import { setting } from '../setting.ts'

const count = v.pipe(v.number(), v.integer(), v.minValue(1))

export const identity = {
  'otp.code': setting({
    open: 'digits of a one-time code, and the wrong tries that end it',
    contract: 'POST /otp/request',
    feature: 'otp',
    precedent: 'NIST SP 800-63B',
    schema: v.strictObject({ digits: v.pipe(count, v.minValue(6), v.maxValue(10)), maxAttempts: count }),
  }),
  'otp.mail': setting({
    open: 'sender, subject and text of the mail; {code} stands for the code',
    contract: 'POST /otp/request',
    feature: 'otp',
    schema: v.strictObject({
      from: v.pipe(v.string(), v.email()),
      subject: v.string(),
      text: v.pipe(v.string(), v.includes('{code}')),
    }),
  }),
  'otp.sessionSeconds': setting({
    open: 'the life of a session in seconds',
    contract: 'POST /otp/verify',
    feature: 'sessions',
    precedent: 'OWASP',
    schema: count,
  }),
  'otp.user': setting({
    open: 'the user_id of an e-mail',
    contract: 'Events',
    feature: 'otp',
    schema: v.picklist(['email_hash']),
  }),
  'login.provider': setting({
    open: 'the identity provider and its flow',
    contract: 'POST /login and POST /password/reset',
    feature: 'login',
    schema: v.strictObject({ name: v.picklist(['cognito']), flow: v.picklist(['USER_PASSWORD_AUTH']) }),
  }),
  'login.shape': setting({
    open: 'request and response of a login',
    contract: 'POST /login and POST /password/reset',
    feature: 'login',
    precedent: 'RFC 6749 5.1',
    schema: v.strictObject({ status: v.picklist([200]), fields: v.array(v.string()) }),
  }),
  'passwordReset.shape': setting({
    open: 'request and response of a password reset',
    contract: 'POST /login and POST /password/reset',
    feature: 'login',
    precedent: 'OWASP',
    schema: v.strictObject({ status: v.picklist([200, 202]), fields: v.array(v.string()) }),
  }),
  'login.captcha': setting({
    open: 'what a throttled login says',
    contract: 'Limits',
    feature: 'login',
    precedent: 'AWS WAF',
    schema: v.strictObject({ detail: v.string() }),
  }),
}

export const imports = {
  'imports.request': setting({
    open: 'the accepted upload shapes',
    contract: 'POST /imports',
    feature: 'imports',
    schema: v.pipe(v.array(v.picklist(['text/csv', 'file_url'])), v.minLength(1)),
  }),
  'imports.maxBytes': setting({
    open: 'the largest upload in bytes, inline and by file_url',
    contract: 'Limits',
    feature: 'imports',
    precedent: 'Lambda, API Gateway',
    schema: v.strictObject({ inline: count, fileUrl: count }),
  }),
  'imports.result': setting({
    open: 'result and error of an operation: how many rejects it shows, and for how many seconds the link to all of them lives',
    contract: 'Operation',
    feature: 'imports',
    precedent: 'Voucherify, commercetools',
    schema: v.strictObject({ rejectsShown: v.pipe(count, v.maxValue(1000)), linkSeconds: count }),
  }),
  'operations.cancel': setting({
    open: 'the cancellation call',
    contract: 'GET /operations/{operation_id}',
    feature: 'operations',
    precedent: 'Azure, AIP-151',
    schema: v.strictObject({
      verb: v.pipe(v.string(), v.regex(/^[A-Za-z]+$/)),
      status: v.picklist([200, 202]),
    }),
  }),
  'operations.retentionDays': setting({
    open: 'how long an operation is kept, in days',
    contract: 'Operation',
    feature: 'operations',
    precedent: 'AIP-151',
    schema: count,
  }),
  'operations.retryAfter': setting({
    open: 'the hint to pollers while an operation runs, in seconds',
    contract: 'Operation',
    feature: 'operations',
    precedent: 'Azure',
    schema: count,
  }),
}
