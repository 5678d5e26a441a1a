import { STATUS_CODES } from 'node:http'
import { type ErrorCode, errorCatalog, messageId } from '#shared/error-catalog.ts'
import { hasBody, type Route, takesSession } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { reference } from './components.ts'
import type { Json } from './schemas.ts'

/** The codes of requests of a kind. A new code of one of these families is described without another list. */
const families = {
  every: /^VALIDATION\.(header|accept|request)\.|^(RATE_LIMIT|DEPENDENCY|TRANSIENT|INTERNAL)\./,
  bearer: /^AUTH\.|^AUTHZ\.(role|scope|request)\.|^POLICY\.mfa\.|^VALIDATION\.filter\.value_invalid$/,
  signature: /^AUTH\.invalid_credentials$/,
  session: /^AUTHZ\.csrf\./,
  body: /^VALIDATION\.(body\.(?!too_large)|content_type\.|field\.(?!unknown))/,
  key: /^VALIDATION\.idempotency_key\.(?!required)|^CONFLICT\.idempotency\.payload_mismatch$/,
  list: /^VALIDATION\.(cursor|sort|filter|datetime|date|page_size)\.|^AUTHZ\.filter\./,
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
  if (isKeyed) own.push(settings['idempotency.missingKey'])
  if (isKeyed && settings['idempotency.whilePending'].status === 409)
    own.push('CONFLICT.idempotency.in_progress')
  const codes = Object.keys(errorCatalog) as ErrorCode[]
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
  if (code === 'AUTHZ.scope.tenant') return settings['auth.crossTenantStatus']
  if (families.session.test(code)) return settings['auth.csrf'].status
  if (code === settings['limits.tooLarge']) return 413
  if (code === settings['versioning.sunset'].code) return settings['versioning.sunset'].status
  return errorCatalog[code].http
}

/** Returns the error responses of an operation, one for each status, with its codes. */
export function errorResponses(route: Route, settings: Settings): Record<string, Json> {
  const byStatus = Map.groupBy(codesOf(route, settings), (code) => statusOf(code, settings))
  const sorted = [...byStatus].sort(([a], [b]) => a - b)
  return Object.fromEntries(
    sorted.map(([status, codes]) => [
      String(status),
      { ...reference('responses', nameOf(status)), description: codes.join(', ') },
    ]),
  )
}

/** Returns the error responses of all operations, by their names. */
export function sharedErrorResponses(settings: Settings): Json {
  const shared: Record<string, Json> = {}
  for (const code of Object.keys(errorCatalog) as ErrorCode[]) {
    const status = statusOf(code, settings)
    // A code that the catalog gives this status is a better example than one that the deployment does.
    if (errorCatalog[code].http === status) shared[nameOf(status)] ??= response(status, code)
  }
  return shared
}

/** Returns the name of a status in PascalCase: NotFound. */
function nameOf(status: number): string {
  return STATUS_CODES[status]?.replaceAll(' ', '') ?? `Status${status}`
}

function response(status: number, code: ErrorCode): Json {
  const headers = {
    'X-Correlation-Id': reference('headers', 'CorrelationId'),
    ...([429, 503].includes(status) && { 'Retry-After': reference('headers', 'RetryAfter') }),
    ...(status === 401 && { 'WWW-Authenticate': reference('headers', 'Challenge') }),
  }
  const { retryable } = errorCatalog[code]
  const correlation_id = '01a1fd42-cae3-748a-b36e-b4be13e970b1'
  const example = { code, message_id: messageId(code), http: status, retryable, correlation_id, details: {} }
  return {
    description: STATUS_CODES[status] ?? `Status ${status}`,
    headers,
    content: { 'application/json': { schema: errorSchema, example: { error: example } } },
  }
}

/** The envelope of every error. */
const errorSchema: Json = {
  title: 'Error',
  type: 'object',
  required: ['error'],
  additionalProperties: false,
  properties: {
    error: {
      title: 'ErrorBody',
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
          title: 'ErrorDetails',
          type: 'object',
          'x-open-point': 'errors.multiField',
          properties: {
            fields: {
              type: 'object',
              description: 'The reason why each field was rejected.',
              additionalProperties: {
                title: 'FieldProblem',
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
