import { type ErrorCode, errorCatalog, messageId } from '#shared/error-catalog.ts'
import { hasBody, type Route, takesSession } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { type Json, reference } from './schemas.ts'

const ofEvery: ErrorCode[] = [
  'VALIDATION.header.invalid',
  'VALIDATION.accept.unsupported',
  'VALIDATION.request.invalid',
  'RATE_LIMIT.exceeded',
  'DEPENDENCY.bad_gateway',
  'DEPENDENCY.unavailable',
  'DEPENDENCY.timeout',
  'TRANSIENT.error',
  'INTERNAL.unexpected',
]
const ofBearer: ErrorCode[] = [
  'AUTH.invalid_credentials',
  'AUTH.token.expired',
  'AUTHZ.role.denied',
  'AUTHZ.scope.tenant',
  'AUTHZ.scope.token',
  'AUTHZ.request.denied',
  'POLICY.mfa.required',
  'VALIDATION.filter.value_invalid',
]
const ofSessions: ErrorCode[] = ['AUTHZ.csrf.token', 'AUTHZ.csrf.origin']
const ofBodies: ErrorCode[] = [
  'VALIDATION.body.json',
  'VALIDATION.body.encoding',
  'VALIDATION.body.too_deep',
  'VALIDATION.body.invalid',
  'VALIDATION.content_type.unsupported',
  'VALIDATION.field.required',
  'VALIDATION.field.type',
  'VALIDATION.field.length',
  'VALIDATION.field.range',
  'VALIDATION.field.enum',
  'VALIDATION.field.format',
]
const ofKeys: ErrorCode[] = [
  'VALIDATION.idempotency_key.length',
  'VALIDATION.idempotency_key.charset',
  'CONFLICT.idempotency.payload_mismatch',
]
const ofLists: ErrorCode[] = [
  'VALIDATION.cursor.invalid',
  'VALIDATION.sort.field',
  'VALIDATION.filter.unknown_key',
  'VALIDATION.filter.value_invalid',
  'VALIDATION.datetime.timezone_required',
  'VALIDATION.date.range',
  'VALIDATION.page_size.min',
  'VALIDATION.page_size.max',
  'VALIDATION.page_size.invalid',
  'AUTHZ.filter.denied',
]

/** Returns every error code that an operation may return, derived from its route. */
export function codesOf(route: Route, settings: Settings): ErrorCode[] {
  const isPending = settings['idempotency.whilePending'].status === 409
  const ofKeyed: ErrorCode[] = [
    settings['idempotency.missingKey'] as ErrorCode,
    ...ofKeys,
    ...(isPending ? (['CONFLICT.idempotency.in_progress'] as const) : []),
  ]
  const codes: ErrorCode[] = [
    ...ofEvery,
    settings['limits.tooLarge'] as ErrorCode,
    ...(isDeprecated(route, settings) ? [settings['versioning.sunset'].code] : []),
    ...(route.auth === 'bearer' ? ofBearer : []),
    ...(takesSession(route, settings) ? ofSessions : []),
    ...(route.auth === 'signature' ? (['AUTH.invalid_credentials'] as const) : []),
    ...(hasBody(route) ? ofBodies : []),
    ...(route.idempotency === 'none' ? [] : ofKeyed),
    ...(route.listing ? ofLists : (['VALIDATION.field.unknown'] as const)),
    ...route.errors,
  ]
  return [...new Set(codes)]
}

/** Returns whether the profile sets a sunset date for the operation. */
export function isDeprecated({ operation }: Pick<Route, 'operation'>, settings: Settings): boolean {
  return Object.hasOwn(settings['versioning.sunset'].deprecated, operation)
}

/** Returns the status of a code in this deployment. */
function statusOf(code: ErrorCode, settings: Settings): number {
  if (code === 'VALIDATION.content_type.unsupported') return settings['errors.unsupportedMedia']
  if (code === 'VALIDATION.accept.unsupported') return settings['errors.notAcceptable']
  if (code === 'AUTHZ.scope.tenant') return settings['auth.crossTenantStatus']
  if (ofSessions.includes(code)) return settings['auth.csrf'].status
  if (code === settings['limits.tooLarge']) return 413
  if (code === settings['versioning.sunset'].code) return settings['versioning.sunset'].status
  return errorCatalog[code].http
}

/** Returns the error responses of an operation, one for each status, with an example of every code. */
export function errorResponses(route: Route, settings: Settings): Json {
  const byStatus = Map.groupBy(codesOf(route, settings), (code) => statusOf(code, settings))
  const sorted = [...byStatus].sort(([a], [b]) => a - b)
  return Object.fromEntries(sorted.map(([status, codes]) => [String(status), response(status, codes)]))
}

function response(status: number, codes: ErrorCode[]): Json {
  const headers = {
    'X-Correlation-Id': reference('headers', 'CorrelationId'),
    ...([429, 503].includes(status) && { 'Retry-After': reference('headers', 'RetryAfter') }),
    ...(status === 401 && { 'WWW-Authenticate': reference('headers', 'Challenge') }),
  }
  const examples = Object.fromEntries(codes.map((code) => [code, { value: exampleOf(code, status) }]))
  return {
    description: codes.join(', '),
    headers,
    content: { 'application/json': { schema: reference('schemas', 'Error'), examples } },
  }
}

function exampleOf(code: ErrorCode, http: number): Json {
  const { retryable } = errorCatalog[code]
  const correlation_id = '01a1fd42-cae3-748a-b36e-b4be13e970b1'
  return { error: { code, message_id: messageId(code), http, retryable, correlation_id, details: {} } }
}

/** The envelope of every error. */
export const errorSchema: Json = {
  type: 'object',
  required: ['error'],
  additionalProperties: false,
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message_id', 'http', 'retryable', 'correlation_id', 'details'],
      additionalProperties: false,
      properties: {
        code: { type: 'string', enum: Object.keys(errorCatalog).sort() },
        message_id: { type: 'string', pattern: '^error\\.[a-z_.]+$' },
        http: { type: 'integer', minimum: 400, maximum: 599 },
        retryable: { type: 'boolean' },
        correlation_id: { type: 'string' },
        details: {
          type: 'object',
          'x-open-point': 'errors.multiField',
          properties: {
            fields: {
              type: 'object',
              description: 'The reason why each field was rejected.',
              additionalProperties: {
                type: 'object',
                required: ['reason'],
                properties: { reason: { type: 'string' }, min: { type: 'number' }, max: { type: 'number' } },
              },
            },
          },
        },
      },
    },
  },
}
