import * as v from 'valibot'
import { setting } from '../setting.ts'

const count = v.pipe(v.number(), v.integer(), v.minValue(1))
/** The maximum is due to the size of an item: a window stores the time of each counted request in one item. */
const counted = v.pipe(count, v.maxValue(5000))

const host = v.pipe(v.string(), v.regex(/^([a-z0-9-]+\.)+[a-z][a-z0-9-]+$/, 'a host name in lower case'))

const scopes = v.array(v.pipe(v.string(), v.regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'a scope')))

/** Counting by e-mail address alone is not offered: anyone could lock its owner out. */
const countBy = v.pipe(
  v.array(
    v.strictObject({ by: v.picklist(['source_and_email', 'source']), times: v.pipe(count, v.maxValue(100)) }),
  ),
  v.minLength(1),
  v.check((all) => new Set(all.map(({ by }) => by)).size === all.length, 'each kind may be named once only'),
)

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
  'otp.sourceThrottle': setting({
    open: 'requests and wrong codes of one source address at /otp/* within a window of so many seconds',
    contract: 'Limits',
    feature: 'otp',
    precedent: 'OWASP',
    schema: v.strictObject({ requests: counted, wrongAttempts: counted, windowSeconds: count }),
  }),
  'otp.dailyWrongAttempts': setting({
    open: 'wrong codes of one e-mail address in 24 hours, beyond which only known sources may continue, and for how many days a source is known after its last success',
    contract: 'Limits',
    feature: 'otp',
    precedent: 'NIST SP 800-63B',
    schema: v.strictObject({
      limit: v.pipe(count, v.maxValue(1000)),
      knownSourceDays: v.pipe(count, v.maxValue(365)),
    }),
  }),
  'otp.deliveredOn': setting({
    open: 'when otp.delivered is published: once the mail service has accepted the mail, or on its delivery event',
    contract: 'Events',
    feature: 'otp',
    precedent: 'SES',
    schema: v.picklist(['accepted', 'delivery']),
  }),
  'mail.domain': setting({
    open: 'the domain that mails are sent from, its MAIL FROM domain, and whether SES has verified it; null for the local run',
    contract: 'POST /otp/request',
    feature: 'otp',
    precedent: 'SES, DMARC (RFC 7489)',
    schema: v.nullable(v.strictObject({ identity: host, mailFrom: host, verified: v.boolean() })),
  }),
  'otp.sessionSeconds': setting({
    open: 'the life of a session in seconds',
    contract: 'POST /otp/verify',
    feature: 'otp',
    precedent: 'OWASP',
    schema: count,
  }),
  'otp.user': setting({
    open: 'the user_id of an e-mail: its keyed hash, or a UUID made from that',
    contract: 'Events',
    feature: 'otp',
    schema: v.picklist(['email_hash', 'uuid']),
  }),
  'login.provider': setting({
    open: 'the identity provider and its flow',
    contract: 'POST /login and POST /password/reset',
    feature: 'login',
    schema: v.strictObject({ name: v.picklist(['cognito']), flow: v.picklist(['ADMIN_USER_PASSWORD_AUTH']) }),
  }),
  'login.refusalMilliseconds': setting({
    open: 'the least time of a refused login, so that its duration does not reveal the state of an account',
    contract: 'POST /login and POST /password/reset',
    feature: 'login',
    precedent: 'OWASP',
    schema: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(5000)),
  }),
  'login.countBy': setting({
    open: 'what the login throttle counts by, each at so many times the limit',
    contract: 'Limits',
    feature: 'login',
    precedent: 'OWASP',
    schema: countBy,
  }),
  'login.shape': setting({
    open: 'request and response of a login',
    contract: 'POST /login and POST /password/reset',
    feature: 'login',
    precedent: 'RFC 6749 5.1',
    schema: v.strictObject({
      status: v.picklist([200, 201]),
      fields: v.pipe(
        v.array(v.picklist(['access_token', 'token_type', 'expires_in', 'refresh_token'])),
        v.minLength(1),
      ),
    }),
  }),
  'login.scopes': setting({
    open: 'the scopes that a login gives to a role',
    contract: 'Authentication',
    feature: 'login',
    schema: v.strictObject({ Viewer: scopes, Editor: scopes, Admin: scopes, Service: scopes }),
  }),
  'login.tokenLifetimes': setting({
    open: 'how long an access token is valid, in minutes, and a refresh token, in days',
    contract: 'Authentication, Roles and tenancy',
    feature: 'login',
    precedent: 'Cognito: 60 minutes and 30 days',
    schema: v.strictObject({
      accessMinutes: v.pipe(count, v.minValue(5), v.maxValue(24 * 60)),
      refreshDays: v.pipe(count, v.maxValue(3650)),
    }),
  }),
  'passwordReset.countBy': setting({
    open: 'what the throttle of password resets counts by, each at so many times the limit',
    contract: 'Limits',
    feature: 'login',
    precedent: 'OWASP',
    schema: countBy,
  }),
  'passwordReset.shape': setting({
    open: 'request and response of a password reset',
    contract: 'POST /login and POST /password/reset',
    feature: 'login',
    precedent: 'OWASP',
    schema: v.strictObject({ status: v.picklist([200, 202]), fields: v.array(v.picklist(['message_id'])) }),
  }),
  'login.captcha': setting({
    open: 'what a throttled login says',
    contract: 'Limits',
    feature: 'login',
    precedent: 'AWS WAF',
    schema: v.strictObject({ detail: v.pipe(v.string(), v.regex(/^[a-z][a-z_]{0,63}$/)) }),
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
  'imports.fetch': setting({
    open: 'how long a download by file_url may take, and the lowest average rate after the first seconds',
    contract: 'POST /imports',
    feature: 'imports',
    precedent: 'minimum data rates of Kestrel and Apache mod_reqtimeout',
    schema: v.strictObject({
      deadlineSeconds: v.pipe(count, v.maxValue(600)),
      graceSeconds: v.pipe(count, v.maxValue(60)),
      minBytesPerSecond: count,
    }),
  }),
  'imports.inProgressPerTenant': setting({
    open: 'how many operations of a tenant may be in progress; one more is 429',
    contract: 'Limits',
    feature: 'imports',
    precedent: 'BigQuery and Salesforce: a number of concurrent jobs for each account',
    schema: v.pipe(count, v.maxValue(1000)),
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
