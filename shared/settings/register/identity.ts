import * as v from 'valibot'
import { count, integer, list, scope, setting, some, text } from '../setting.ts'

/** A window stores the time of each counted request in one item, whose size limits them. */
const counted = integer(1, 5000)
const host = text(/^([a-z0-9-]+\.)+[a-z][a-z0-9-]+$/, 'a host name in lower case')
const scopes = list(scope)
/** Counting by e-mail address alone is not possible: anyone could lock its owner out. */
const countBy = v.pipe(
  some(v.strictObject({ by: v.picklist(['source_and_email', 'source']), times: integer(1, 100) })),
  v.check((all) => new Set(all.map(({ by }) => by)).size === all.length, 'each kind may be named only once'),
  v.check((all) => {
    const times = (kind: string) => all.find(({ by }) => by === kind)?.times
    return (times('source_and_email') ?? 0) < (times('source') ?? Number.POSITIVE_INFINITY)
  }, 'the times of source must be above those of source_and_email, which it includes'),
)

/** One-time codes, sessions, logins and password resets. */
export const identity = {
  'otp.code': setting(
    'product',
    'Digits of a one-time code, and the wrong attempts of one source in five minutes after which its codes are rejected (NIST SP 800-63B)',
    // A source may send 25 codes for an address in five minutes: five a minute.
    v.strictObject({ digits: integer(6, 10), maxAttempts: integer(1, 24) }),
  ),
  'otp.mail': setting(
    'product',
    'Subject and text of the mail; {code} stands for the code',
    v.strictObject({
      subject: text(/^\S[^\r\n]*$/, 'one line that is not empty'),
      text: v.pipe(v.string(), v.includes('{code}')),
    }),
  ),
  'otp.sourceThrottle': setting(
    'tuning',
    'Requests and wrong codes that one source address may send to /otp/* within a window (OWASP)',
    v.pipe(
      v.strictObject({ requests: counted, wrongAttempts: counted, windowSeconds: count }),
      v.check(
        ({ requests, wrongAttempts }) => wrongAttempts < requests,
        'wrongAttempts must be below requests, of which they are a part',
      ),
    ),
  ),
  'otp.dailyWrongAttempts': setting(
    'tuning',
    'Wrong codes of one e-mail address in 24 hours, after which only known sources may continue, and the days that a source stays known after a success (NIST SP 800-63B)',
    v.strictObject({ limit: integer(1, 1000), knownSourceDays: integer(1, 365) }),
  ),
  'otp.mailsPerAddress': setting(
    'tuning',
    'Mails to one e-mail address within a window, for all sources together that are not known; at least the five minutes of a code',
    v.strictObject({ limit: integer(1, 100), windowSeconds: integer(300, 86_400) }),
  ),
  'otp.deliveredOn': setting(
    'deployment',
    'When otp.delivered is published: when the mail service accepts the mail, or on its delivery event (SES)',
    v.picklist(['accepted', 'delivery']),
  ),
  'mail.sender': setting(
    'deployment',
    'Sender of mails, and the domain that SES signs for: its name, its MAIL FROM domain, and whether SES has verified it; domain is null for a single address, as on the local run. Without a sender, requests for one-time codes get 503 (DMARC, RFC 7489)',
    v.nullable(
      v.strictObject({
        from: v.pipe(v.string(), v.email()),
        domain: v.nullable(v.strictObject({ identity: host, mailFrom: host, verified: v.boolean() })),
      }),
    ),
  ),
  'otp.sessionSeconds': setting('tuning', 'Lifetime of a session in seconds (OWASP)', count),
  'otp.user': setting(
    'product',
    'The user_id of an e-mail address: its keyed hash, or a UUID derived from the hash',
    v.picklist(['email_hash', 'uuid']),
  ),
  'login.countBy': setting(
    'tuning',
    'What the login throttle counts by, each with a multiple of the limit (OWASP)',
    countBy,
  ),
  'login.shape': setting(
    'product',
    'Status and fields of the response of a login (RFC 6749 5.1)',
    v.strictObject({
      status: v.picklist([200, 201]),
      fields: some(v.picklist(['access_token', 'token_type', 'expires_in', 'refresh_token'])),
    }),
  ),
  'login.scopes': setting(
    'product',
    'Scopes that a login grants, by role',
    v.strictObject({ Viewer: scopes, Editor: scopes, Admin: scopes, Service: scopes }),
  ),
  'login.tokenLifetimes': setting(
    'tuning',
    'Lifetime of an access token in minutes and of a refresh token in days (Cognito: 60 minutes and 30 days)',
    v.strictObject({ accessMinutes: integer(5, 24 * 60), refreshDays: integer(1, 3650) }),
  ),
  'login.captcha': setting(
    'product',
    'Detail of the error of a throttled login (AWS WAF)',
    v.strictObject({ detail: text(/^[a-z][a-z_]{0,63}$/) }),
  ),
  'passwordReset.countBy': setting(
    'tuning',
    'What the throttle of password resets counts by, each with a multiple of the limit (OWASP)',
    countBy,
  ),
  'passwordReset.shape': setting(
    'product',
    'Status and fields of the response of a password reset (OWASP)',
    v.strictObject({ status: v.picklist([200, 202]), fields: list(v.picklist(['message_id'])) }),
  ),
}
