import * as v from 'valibot'
import { type ErrorCode, errorCatalog } from '../../error-catalog.ts'
import { count, integer, isReachedFirst, list, operations, setting, some, text } from '../setting.ts'
import { maxShards, tenantPattern } from '../tenant-limits.ts'

const validationCodes = (Object.keys(errorCatalog) as ErrorCode[]).filter((code) =>
  code.startsWith('VALIDATION.'),
)
/** AWS WAF supports these windows, and limits of at least ten requests. */
const webAclRate = v.strictObject({
  requests: integer(10, 2_000_000_000),
  windowSeconds: v.picklist([60, 120, 300, 600]),
})
/** Rates of the web ACL of which the first counts all requests of the second. */
const nestedRates = [
  ['addresses', 'anonymous'],
  ...(['addresses', 'anonymous'] as const).flatMap((wide) =>
    (['logins', 'passwordResets', 'oneTimeCodes'] as const).map((narrow) => [wide, narrow] as const),
  ),
] as const
/** A static version of managed rules. Without one, AWS chooses the version and changes it. */
const ruleVersion = text(/^Version_\d{1,3}\.\d{1,3}$/, 'a version such as Version_1.19')
const shards = v.pipe(
  v.strictObject({ writes: integer(1, maxShards), reads: integer(1, maxShards) }),
  v.check(({ writes, reads }) => writes <= reads, 'writes is above reads, so lists would miss new items'),
)
const gatewayRate = { requestsPerSecond: count, burst: count }
const hostName = text(/^(localhost|([a-z0-9-]+\.)+[a-z][a-z0-9-]+)$/, 'a host name')
/** A limit of an operation. */
interface Limit {
  limit: number
  windowSeconds: number
  per: 'principal' | 'source' | 'tenant'
  counts: 'requests' | 'failures'
}

/** Returns whether another limit of the operation counts all that this one counts, and is reached first. */
function isCovered(one: Limit, other: Limit): boolean {
  const countsAll =
    (other.per === one.per || other.per === 'tenant') &&
    (other.counts === one.counts || other.counts === 'requests')
  return one !== other && countsAll && isReachedFirst(other, one)
}

/** A day, which starts at midnight UTC. */
const day = v.pipe(
  v.string(),
  // Date.parse reads the 31st of February as the 3rd of March.
  v.check((date) => {
    const parsed = new Date(`${date}T00:00:00Z`)
    return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(`${date}T`)
  }, 'expected a day such as 2030-01-31'),
)

export const requests = {
  'idempotency.lifetimeHours': setting(
    'tuning',
    'How long the outcome of a request is kept, 24 to 72 hours (Stripe v1: 24)',
    integer(24, 72),
  ),
  'idempotency.keyMaxLength': setting(
    'tuning',
    'Maximum length of an Idempotency-Key (Stripe: 255)',
    integer(1, 1024),
  ),
  'idempotency.whilePending': setting(
    'product',
    'How long a request waits for a pending outcome, and the status after that: 503, which clients retry with the same key, or 409 (IETF Idempotency-Key draft: 409)',
    v.strictObject({
      waitSeconds: v.pipe(v.number(), v.minValue(0), v.maxValue(20)),
      status: v.picklist([503, 409]),
    }),
  ),
  'idempotency.anonymousScope': setting(
    'product',
    'Scope of a key without a principal: a keyed hash of the e-mail address, the source address, or both',
    some(v.picklist(['email', 'source'])),
  ),
  'idempotency.requiredOn': setting(
    'product',
    'Further operations that require an Idempotency-Key',
    operations,
  ),
  'idempotency.missingKey': setting(
    'product',
    'Error code of a missing Idempotency-Key (IETF Idempotency-Key draft: 400)',
    v.picklist(
      validationCodes.filter((code) => errorCatalog[code].http === 400),
      'expected a VALIDATION code of the catalog with the status 400',
    ),
  ),
  'requests.timeoutHeader': setting(
    'tuning',
    'Unit of X-Request-Timeout, and the limits of the time of a request in milliseconds',
    v.pipe(
      v.strictObject({
        unit: v.picklist(['milliseconds', 'seconds']),
        minMilliseconds: integer(1, 26_000),
        maxMilliseconds: integer(1, 26_000),
      }),
      v.check(
        ({ minMilliseconds, maxMilliseconds }) => minMilliseconds <= maxMilliseconds,
        'minMilliseconds is above maxMilliseconds',
      ),
    ),
  ),
  'requests.correlationId': setting(
    'product',
    'Allowed characters and maximum length of a correlation id; an invalid one is replaced (W3C Trace Context)',
    v.strictObject({ form: v.picklist(['visible_ascii', 'word']), maxLength: integer(36, 255) }),
  ),
  'limits.tooLarge': setting(
    'product',
    'Error code of a 413 (RFC 9110 15.5.14)',
    v.picklist(validationCodes, 'expected a VALIDATION code of the catalog'),
  ),
  // Lambda accepts 6 MB, with the body in base64.
  'limits.gateway': setting(
    'deployment',
    'Requests per second and burst that the gateway allows, for all operations and for single ones',
    v.strictObject({
      ...gatewayRate,
      byOperation: v.record(v.string(), v.strictObject(gatewayRate)),
      retryAfterSeconds: count,
    }),
  ),
  'limits.webAcl': setting(
    'deployment',
    'Whether the rules of the web ACL block or only count, the versions of its managed rules, the requests that it allows per source address (anonymous ones, webhooks, and, as addresses, all others together) and per credential, and the domains of CAPTCHA tokens besides the one of the API (AWS WAF)',
    v.pipe(
      v.strictObject({
        action: v.picklist(['block', 'count']),
        managedRules: v.strictObject({ knownBadInputs: ruleVersion, common: ruleVersion }),
        anonymous: webAclRate,
        credentials: webAclRate,
        addresses: webAclRate,
        webhooks: webAclRate,
        logins: webAclRate,
        passwordResets: webAclRate,
        oneTimeCodes: webAclRate,
        userPool: webAclRate,
        retryAfterSeconds: count,
        captcha: v.strictObject({
          // The quota of AWS WAF. A domain covers its subdomains.
          tokenDomains: v.pipe(list(hostName), v.maxLength(10)),
          immunitySeconds: integer(60, 259_200),
        }),
      }),
      v.rawCheck(({ dataset, addIssue }) => {
        if (!dataset.typed) return
        for (const [wide, narrow] of nestedRates) {
          const [first, other] = [dataset.value[wide], dataset.value[narrow]].map(
            ({ requests: limit, windowSeconds }) => ({ limit, windowSeconds }),
          )
          if (first && other && isReachedFirst(first, other))
            addIssue({
              message: `${narrow} is never reached: ${wide} counts the same requests and allows ${first.limit} in ${first.windowSeconds} s`,
            })
        }
      }),
    ),
  ),
  'limits.concurrency': setting(
    'deployment',
    'Concurrent executions of functions that the account allows this deployment (AWS Lambda quota: 1,000)',
    count,
  ),
  'limits.provisionedConcurrency': setting(
    'deployment',
    'Executions of operations that are kept ready, by operation, so that their first requests meet no cold start (AWS Lambda provisioned concurrency)',
    v.record(v.string(), count),
  ),
  // A window stores the time of each counted request in one item, whose size limits them.
  'limits.other': setting(
    'tuning',
    'Rate limits of further operations, by operation: of all requests or of failed ones, per principal, source or tenant',
    v.record(
      v.string(),
      v.pipe(
        some(
          v.strictObject({
            limit: integer(1, 5000),
            windowSeconds: count,
            per: v.picklist(['principal', 'source', 'tenant']),
            counts: v.picklist(['requests', 'failures']),
          }),
        ),
        // They would be counted in one window.
        v.check(
          (all) =>
            new Set(all.map(({ per, counts, windowSeconds }) => `${per} ${counts} ${windowSeconds}`)).size ===
            all.length,
          'two limits have the same per, counts and windowSeconds',
        ),
        v.check(
          (all) => !all.some((one) => all.some((other) => isCovered(one, other))),
          'a limit is never reached, because another one is reached first',
        ),
      ),
    ),
  ),
  'errors.retryAfterSeconds': setting(
    'tuning',
    'Range of the random Retry-After of a 503, in seconds (RFC 9110 10.2.3)',
    v.pipe(
      v.strictObject({ min: count, max: count }),
      v.check(({ min, max }) => min <= max, 'min is above max'),
    ),
  ),
  'errors.multiField': setting(
    'product',
    'Details of several invalid fields: details.fields only, or also details.errors as a list',
    v.picklist(['fields', 'fields_and_errors']),
  ),
  'errors.docs': setting(
    'product',
    'Address of the page of errors, to whose row the member docs of an error leads; null for errors without it',
    v.nullable(text(/^https?:\/\/[^\s#"'\\]+$/, 'an address such as https://docs.acme.cloud/errors.html')),
  ),
  'errors.expiredToken': setting(
    'product',
    'Error code of an expired token (RFC 6750 3.1: one code for all invalid tokens)',
    v.picklist(['AUTH.token.expired', 'AUTH.invalid_credentials']),
  ),
  'errors.unsupportedMedia': setting(
    'product',
    'Status of a body with an unsupported content type or content encoding (RFC 9110 15.5.16: 415)',
    v.picklist([400, 415]),
  ),
  'errors.notAcceptable': setting(
    'product',
    'Status of a request whose Accept excludes the media type of the response (RFC 9110 15.5.7: 406)',
    v.picklist([400, 406]),
  ),
  'health.body': setting(
    'product',
    'Body of GET /health (draft-inadarei-api-health-check)',
    v.record(v.string(), v.union([v.string(), v.number(), v.boolean()])),
  ),
  'health.mediaType': setting(
    'product',
    'Media type of GET /health (draft-inadarei-api-health-check)',
    text(/^application\/([a-z-]+\+)?json$/),
  ),
  // A release records these numbers in the environment of its functions, which takes 4 KB: few tenants are this large.
  'storage.shards': setting(
    'deployment',
    'Number of partitions that store the new items of a tenant, and number that its lists read: for all tenants and for single ones (docs/scaling.md)',
    v.strictObject({
      default: shards,
      tenants: v.pipe(v.record(text(tenantPattern), shards), v.maxEntries(20)),
    }),
  ),
  'versioning.sunset': setting(
    'product',
    'Minimum days between deprecation and sunset, the error after sunset, and the deprecated operations (RFC 9745, RFC 8594)',
    v.strictObject({
      windowDays: count,
      status: v.picklist([404, 410]),
      code: v.picklist(['GONE.version', 'NOT_FOUND.route']),
      deprecated: v.record(v.string(), v.strictObject({ deprecatedAt: day, sunsetAt: day })),
    }),
  ),
}
