import * as v from 'valibot'
import { type ErrorCode, errorCatalog } from '../../error-catalog.ts'
import { setting } from '../setting.ts'

const validationCode = v.picklist(
  (Object.keys(errorCatalog) as ErrorCode[]).filter((code) => code.startsWith('VALIDATION.')),
  'a VALIDATION code of the catalogue',
)
const count = v.pipe(v.number(), v.integer(), v.minValue(1))
/** AWS WAF supports these windows, and limits of at least ten requests. */
const webAclRate = v.strictObject({
  requests: v.pipe(count, v.minValue(10), v.maxValue(2_000_000_000)),
  windowSeconds: v.picklist([60, 120, 300, 600]),
})
/** A day, which starts at midnight UTC. */
const day = v.pipe(
  v.string(),
  // Date.parse reads the 31st of February as the 3rd of March.
  v.check((text) => {
    const parsed = new Date(`${text}T00:00:00Z`)
    return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(`${text}T`)
  }, 'a day such as 2030-01-31'),
)

export const requests = {
  'idempotency.lifetimeHours': setting({
    open: 'how long an outcome is kept, 24 to 72 hours',
    contract: 'Limits',
    feature: 'platform',
    precedent: 'Stripe v1: 24',
    schema: v.pipe(v.number(), v.integer(), v.minValue(24), v.maxValue(72)),
  }),
  'idempotency.keyMaxLength': setting({
    open: 'the longest Idempotency-Key; a longer one is refused',
    contract: 'Limits',
    feature: 'platform',
    precedent: 'Stripe: 255',
    schema: v.pipe(count, v.maxValue(1024)),
  }),
  'idempotency.whilePending': setting({
    open: 'how long a request waits for a pending outcome, and the status after that: 503, which clients retry with the same key, or 409',
    contract: 'Idempotency record',
    feature: 'platform',
    precedent: 'IETF Idempotency-Key draft (409); Svix and Medusa wait',
    schema: v.strictObject({
      waitSeconds: v.pipe(v.number(), v.minValue(0), v.maxValue(20)),
      status: v.picklist([503, 409]),
    }),
  }),
  'idempotency.anonymousScope': setting({
    open: 'what scopes a key without a principal: a keyed hash of the e-mail address, the source address, or both',
    contract: 'Limits',
    feature: 'platform',
    schema: v.pipe(v.array(v.picklist(['email', 'source'])), v.minLength(1)),
  }),
  'idempotency.requiredOn': setting({
    open: 'the operations that need a key beyond those whose section names one',
    contract: 'Endpoints, Conventions',
    feature: 'platform',
    schema: v.array(v.string()),
  }),
  'idempotency.missingKey': setting({
    open: 'the error code of a missing key',
    contract: 'Errors',
    feature: 'platform',
    precedent: 'IETF Idempotency-Key draft: 400',
    schema: validationCode,
  }),
  'requests.timeoutHeader': setting({
    open: 'the unit of X-Request-Timeout and the largest budget that a request may have, in milliseconds',
    contract: 'Endpoints, Conventions',
    feature: 'platform',
    schema: v.strictObject({
      unit: v.picklist(['milliseconds', 'seconds']),
      maxMilliseconds: v.pipe(count, v.maxValue(26_000)),
    }),
  }),
  'requests.correlationId': setting({
    open: 'the form and the greatest length of a correlation id; another one is replaced',
    contract: 'Endpoints, Conventions',
    feature: 'platform',
    precedent: 'W3C Trace Context',
    schema: v.strictObject({
      form: v.picklist(['visible_ascii', 'word']),
      maxLength: v.pipe(count, v.minValue(36), v.maxValue(255)),
    }),
  }),
  'requests.tenantName': setting({
    open: 'the punctuation of a tenant name beside letters and digits, and its greatest length',
    contract: 'Authentication',
    feature: 'platform',
    precedent: 'names of hosts in DNS',
    schema: v.strictObject({
      punctuation: v.pipe(v.string(), v.regex(/^[._-]{0,3}$/, 'some of . _ -')),
      maxLength: v.pipe(count, v.maxValue(64)),
    }),
  }),
  'requests.baggageMaxBytes': setting({
    open: 'how many bytes of baggage are passed on',
    contract: 'Endpoints, Conventions',
    feature: 'platform',
    precedent: 'W3C Baggage: 8192',
    schema: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(8192)),
  }),
  'limits.tooLarge': setting({
    open: 'the error code of a 413',
    contract: 'Errors, Other status rules',
    feature: 'platform',
    precedent: 'RFC 9110 15.5.14',
    schema: validationCode,
  }),
  'limits.defaultBodyKilobytes': setting({
    open: 'the largest body of a route for which the contract names none, in KB of 1,024 bytes',
    contract: 'Limits',
    feature: 'platform',
    // Lambda accepts 6 MB, with the body in base64.
    schema: v.pipe(count, v.maxValue(4 * 1024)),
  }),
  'limits.gateway': setting({
    open: 'requests per second and burst that the gateway lets through, for all operations and for some of their own',
    contract: 'Limits',
    feature: 'platform',
    schema: v.strictObject({
      requestsPerSecond: count,
      burst: count,
      byOperation: v.record(v.string(), v.strictObject({ requestsPerSecond: count, burst: count })),
      retryAfterSeconds: count,
    }),
  }),
  'limits.webAcl': setting({
    open: 'requests that the web ACL lets through per source address, and where CAPTCHA tokens come from',
    contract: 'Limits',
    feature: 'platform',
    precedent: 'AWS WAF',
    schema: v.strictObject({
      logins: webAclRate,
      passwordResets: webAclRate,
      oneTimeCodes: webAclRate,
      userPool: webAclRate,
      retryAfterSeconds: count,
      captcha: v.strictObject({
        tokenDomains: v.pipe(
          v.array(v.pipe(v.string(), v.regex(/^(localhost|([a-z0-9-]+\.)+[a-z][a-z0-9-]+)$/, 'a host name'))),
          v.minLength(1),
        ),
        immunitySeconds: v.pipe(count, v.minValue(60), v.maxValue(259_200)),
      }),
    }),
  }),
  'limits.other': setting({
    open: 'rate limits of routes other than those that the contract names, by operation',
    contract: 'Limits',
    feature: 'discount',
    schema: v.record(
      v.string(),
      v.strictObject({
        // A window stores the time of each counted request in one item, whose size limits them.
        limit: v.pipe(count, v.maxValue(5000)),
        windowSeconds: count,
        per: v.picklist(['principal']),
      }),
    ),
  }),
  'errors.retryAfterSeconds': setting({
    open: 'the Retry-After of a 503 in seconds',
    contract: 'Endpoints, Conventions',
    feature: 'platform',
    precedent: 'RFC 9110 10.2.3',
    schema: count,
  }),
  'errors.multiField': setting({
    open: 'several invalid fields: one error with details.fields, or with details.errors as a list too',
    contract: 'Errors, Envelope',
    feature: 'platform',
    precedent: "the contract's canonical form",
    schema: v.picklist(['fields', 'fields_and_errors']),
  }),
  'errors.expiredToken': setting({
    open: 'the error code of an expired token',
    contract: 'Authentication',
    feature: 'platform',
    precedent: 'RFC 6750 3.1: one code for all invalid tokens',
    schema: v.picklist(['AUTH.token.expired', 'AUTH.invalid_credentials']),
  }),
  'errors.unsupportedMedia': setting({
    open: 'the status of a body whose content type or content encoding an operation does not take',
    contract: 'Errors, Other status rules',
    feature: 'platform',
    precedent: 'RFC 9110 15.5.16: 415',
    schema: v.picklist([400, 415]),
  }),
  'errors.notAcceptable': setting({
    open: 'the status of a request whose Accept does not take what the operation answers with',
    contract: 'Endpoints, Conventions',
    feature: 'platform',
    precedent: 'RFC 9110 15.5.7: 406',
    schema: v.picklist([400, 406]),
  }),
  'health.body': setting({
    open: 'the body of GET /health',
    contract: 'GET /health',
    feature: 'platform',
    precedent: 'draft-inadarei-api-health-check',
    schema: v.record(v.string(), v.union([v.string(), v.number(), v.boolean()])),
  }),
  'health.mediaType': setting({
    open: 'the media type of GET /health',
    contract: 'GET /health',
    feature: 'platform',
    precedent: 'draft-inadarei-api-health-check',
    schema: v.pipe(v.string(), v.regex(/^application\/([a-z-]+\+)?json$/)),
  }),
  'versioning.sunset': setting({
    open: 'the deprecation window, its notice, and the answer after sunset, by operation',
    contract: 'Versioning',
    feature: 'versioning',
    precedent: 'RFC 9745, RFC 8594, AIP-185',
    schema: v.strictObject({
      windowDays: count,
      status: v.picklist([404, 410]),
      code: v.picklist(['GONE.version', 'NOT_FOUND.route']),
      deprecated: v.record(v.string(), v.strictObject({ deprecatedAt: day, sunsetAt: day })),
    }),
  }),
  'audit.read': setting({
    open: 'where audit records can be read',
    contract: 'Audit record',
    feature: 'platform',
    schema: v.picklist(['operators']),
  }),
}
