import { STATUS_CODES } from 'node:http'
import { type ErrorCode, errorCatalog, messageId } from '#shared/error-catalog.ts'
import { hasBody, type Route, takesSession } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { pascalCase, reference } from './components.ts'
import { type Json, opened } from './schemas.ts'

/** The codes of requests of a kind. A new code of one of these families is described without another list. */
const families = {
  every: /^VALIDATION\.(header|accept|request)\.|^(RATE_LIMIT|DEPENDENCY|TRANSIENT|INTERNAL)\./,
  bearer:
    /^AUTH\.|^AUTHZ\.(role|scope|request)\.|^POLICY\.(mfa|account)\.|^VALIDATION\.filter\.value_invalid$/,
  signature: /^AUTH\.invalid_credentials$/,
  session: /^AUTHZ\.csrf\./,
  body: /^VALIDATION\.(body\.(?!too_large)|content_type\.|field\.(?!unknown))/,
  key: /^VALIDATION\.idempotency_key\.(?!required)|^CONFLICT\.idempotency\.payload_mismatch$/,
  list: /^VALIDATION\.(cursor|sort|filter|datetime|date|page_size)\.|^AUTHZ\.filter\./,
  /** The examples of responses that may be stored for a key: every 500, and refunds that the provider rejected. */
  stored: /^INTERNAL\.|^TRANSIENT\.|^NOT_FOUND\.charge$|^POLICY\.refund\.(declined|exceeds_charge)$/,
}

/** Returns every error code that an operation may return, derived from its route, in the order of the catalog. */
function codesOf(route: Route, settings: Settings): ErrorCode[] {
  const isKeyed = route.idempotency !== 'none'
  const expressions = [
    families.every,
    ...(route.auth === 'none' ? [] : [families[route.auth]]),
    ...(takesSession(route, settings) ? [families.session] : []),
    ...(hasBody(route) ? [families.body] : []),
    ...(isKeyed ? [families.key] : []),
    ...(route.listing ? [families.list] : []),
  ]
  const own: string[] = [...route.errors, settings['limits.tooLarge']]
  if (!route.listing) own.push('VALIDATION.field.unknown')
  if (isDeprecated(route, settings)) own.push(settings['versioning.sunset'].code)
  if (route.reply.etag && !hasBody(route)) own.push('CONFLICT.etag.mismatch')
  if (isKeyed) own.push(settings['idempotency.missingKey'])
  if (isKeyed && settings['idempotency.whilePending'].status === 409)
    own.push('CONFLICT.idempotency.in_progress')
  // A route without options ignores all that could be invalid.
  const codes = (Object.keys(errorCatalog) as ErrorCode[]).filter(
    (code) => !route.ignoresOptions || !code.startsWith('VALIDATION.') || statusOf(code, settings) === 413,
  )
  return codes.filter((code) => own.includes(code) || expressions.some((one) => one.test(code)))
}

/** Returns whether the profile sets a sunset date for the operation. */
export function isDeprecated({ operation }: Pick<Route, 'operation'>, settings: Settings): boolean {
  return Object.hasOwn(settings['versioning.sunset'].deprecated, operation)
}

/** Returns the status of a code in this deployment. */
export function statusOf(code: ErrorCode, settings: Settings): number {
  if (code === 'VALIDATION.content_type.unsupported') return settings['errors.unsupportedMedia']
  if (code === 'VALIDATION.accept.unsupported') return settings['errors.notAcceptable']
  if (code === 'VALIDATION.if_match.required') return settings['codes.missingIfMatch']
  if (code === 'AUTHZ.scope.tenant') return settings['auth.crossTenantStatus']
  if (families.session.test(code)) return settings['auth.csrf'].status
  if (code === settings['limits.tooLarge']) return 413
  if (code === settings['versioning.sunset'].code) return settings['versioning.sunset'].status
  return errorCatalog[code].http
}

/** Returns the code that is the example of a response: one of the operation itself if there is one. */
function exampleOf(route: Route, codes: ErrorCode[]): ErrorCode {
  return codes.find((code) => route.errors.includes(code)) ?? (codes[0] as ErrorCode)
}

/** Returns the error responses of an operation, one for each status, with its codes. */
export function errorResponses(route: Route, settings: Settings): Record<string, Json> {
  const byStatus = Map.groupBy(codesOf(route, settings), (code) => statusOf(code, settings))
  const sorted = [...byStatus].sort(([a], [b]) => a - b)
  return Object.fromEntries(
    sorted.map(([status, codes]) => [
      String(status),
      { ...reference('responses', nameOf(exampleOf(route, codes))), description: codes.join(', ') },
    ]),
  )
}

/** Returns the error responses that operations refer to, by their names. */
export function sharedErrorResponses(operations: Json, settings: Settings): Json {
  const used = JSON.stringify(operations)
  const codes = (Object.keys(errorCatalog) as ErrorCode[]).filter((code) =>
    used.includes(JSON.stringify(reference('responses', nameOf(code)).$ref)),
  )
  return Object.fromEntries(codes.map((code) => [nameOf(code), response(statusOf(code, settings), code)]))
}

/** Returns the name of a code in PascalCase: NotFoundOrder. */
function nameOf(code: ErrorCode): string {
  return pascalCase(code.toLowerCase())
}

function response(status: number, code: ErrorCode): Json {
  const headers = {
    'X-Correlation-Id': reference('headers', 'CorrelationId'),
    ...([429, 503].includes(status) && { 'Retry-After': reference('headers', 'RetryAfter') }),
    ...(status === 401 && { 'WWW-Authenticate': reference('headers', 'Challenge') }),
    ...(code === 'VALIDATION.content_type.unsupported' && {
      'Accept-Post': reference('headers', 'AcceptPost'),
      'Accept-Patch': reference('headers', 'AcceptPatch'),
    }),
    ...(families.stored.test(code) && { 'Idempotency-Status': reference('headers', 'IdempotencyStatus') }),
  }
  const { retryable } = errorCatalog[code]
  const correlation_id = '01a1fd42-cae3-848a-b36e-b4be13e97000'
  const example = { code, message_id: messageId(code), http: status, retryable, correlation_id, details: {} }
  return {
    description: STATUS_CODES[status] ?? `Status ${status}`,
    headers,
    content: { 'application/json': { schema: errorSchema, example: { error: example } } },
  }
}

const texts = { type: 'array', items: { type: 'string' } }

const fieldProblem: Json = {
  title: 'FieldProblem',
  type: 'object',
  description: 'The error code of one field, what would be valid, and what was sent.',
  required: ['code', 'reason'],
  properties: {
    code: { type: 'string' },
    reason: { type: 'string' },
    min: { type: 'number' },
    max: { type: 'number' },
    regex: { type: 'string', description: 'The pattern of a valid value.' },
    allowed: { ...texts, description: 'The valid values, or the roles that may send the field.' },
    integer: { type: 'boolean', description: 'True if only an integer is valid.' },
    type: { type: 'string', description: 'The JSON type of a valid value.' },
    not_before: { type: 'string', format: 'date-time', description: 'The earliest valid time.' },
    actual: {
      description:
        'A number or time as it was sent, the length of a text or list, or a JSON type; absent without any. It never quotes a text.',
    },
  },
}

/** The envelope of every error. */
const errorSchema: Json = opened({
  title: 'Error',
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      title: 'ErrorBody',
      type: 'object',
      required: ['code', 'message_id', 'http', 'retryable', 'correlation_id', 'details'],
      properties: {
        code: { type: 'string', enum: Object.keys(errorCatalog).sort() },
        message_id: {
          type: 'string',
          pattern: '^error\\.[a-z0-9_.]+$',
          description: 'The key of a translation: error. and the code in lower case.',
        },
        http: { type: 'integer', minimum: 400, maximum: 599, description: 'The status of the response.' },
        retryable: {
          type: 'boolean',
          description: 'True if the same request, with the same Idempotency-Key, may succeed later.',
        },
        correlation_id: { type: 'string', description: 'Quote it when you ask for help.' },
        details: {
          title: 'ErrorDetails',
          type: 'object',
          'x-open-point': 'errors.multiField',
          properties: {
            fields: {
              type: 'object',
              description: 'The problem with each rejected field or parameter, by its name.',
              additionalProperties: fieldProblem,
            },
            required_scopes: {
              ...texts,
              description: 'AUTHZ.scope.token: the scopes that the operation needs.',
            },
            www_authenticate: {
              type: 'string',
              description:
                'Responses with WWW-Authenticate: the same text (RFC 9110 11.6.1). API Gateway renames that header.',
            },
            supported: {
              ...texts,
              description:
                'The media types that the operation supports (415), or the methods of the path (405).',
            },
            position: {
              type: 'integer',
              minimum: 0,
              maximum: 2 ** 31 - 1,
              description: 'VALIDATION.body.json: the number of characters before the error.',
            },
            refund_id: {
              type: 'string',
              description:
                'The refund that the payment provider rejected. A later outcome can be read by its id.',
            },
            remaining: {
              type: 'integer',
              format: 'int64',
              description:
                'POLICY.refund.exceeds_charge: what is left of the charge in minor units, if the provider returns it.',
            },
          },
        },
      },
    },
  },
})
