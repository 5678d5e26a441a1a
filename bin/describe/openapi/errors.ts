import { STATUS_CODES } from 'node:http'
import { pascalCase } from '#lib/functions/function-names.ts'
import { type ErrorCode, errorCatalog, messageId } from '#shared/error-catalog.ts'
import {
  hasBody,
  isForTenants,
  type Route,
  type RouteError,
  takesSession,
} from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { reference } from './components.ts'
import { errorSchema } from './error-schema.ts'
import type { Json } from './schemas.ts'

/** The codes of requests of a kind. A new code of one of these families is described without another list. */
const families = {
  every:
    /^VALIDATION\.(header|accept|request)\.|^AUTHZ\.request\.|^(RATE_LIMIT|DEPENDENCY|TRANSIENT|INTERNAL)\./,
  bearer: /^AUTH\.|^AUTHZ\.(role|scope)\.|^POLICY\.mfa\.|^VALIDATION\.filter\.value_invalid$/,
  signature: /^AUTH\.invalid_credentials$/,
  session: /^AUTHZ\.csrf\./,
  body: /^VALIDATION\.(body\.(?!too_large)|content_type\.|field\.(?!unknown))/,
  key: /^VALIDATION\.idempotency_key\.(?!required)|^CONFLICT\.idempotency\.payload_mismatch$/,
  list: /^VALIDATION\.(cursor|sort|filter|datetime|date|page_size)\.|^AUTHZ\.filter\./,
  /** Stored for each key. A route names its other stored errors. */
  stored: /^INTERNAL\./,
  /** Sent with WWW-Authenticate. */
  challenged: /^AUTH\.|^AUTHZ\.scope\.token$|^POLICY\.mfa\./,
}

const catalog = Object.keys(errorCatalog) as ErrorCode[]

/** Returns the errors that an operation may return like others of its kind, in the order of the catalog. */
function commonErrorsOf(route: Route, settings: Settings): RouteError[] {
  const isKeyed = route.idempotency !== 'none'
  const expressions = [
    families.every,
    ...(route.auth === 'none' ? [] : [families[route.auth]]),
    ...(takesSession(route, settings) ? [families.session] : []),
    ...(hasBody(route) ? [families.body] : []),
    ...(isKeyed ? [families.key] : []),
    ...(route.listing ? [families.list] : []),
  ]
  const others: string[] = []
  // A parameter that is unknown, or repeated.
  if (!route.listing) others.push('VALIDATION.field.unknown', 'VALIDATION.field.format')
  if (isForTenants(route)) others.push('POLICY.account.locked')
  if (isDeprecated(route, settings)) others.push(settings['versioning.sunset'].code)
  if (route.reply.etag && !hasBody(route)) others.push('CONFLICT.etag.mismatch')
  if (isKeyed) others.push(settings['idempotency.missingKey'])
  if (isKeyed && settings['idempotency.whilePending'].status === 409)
    others.push('CONFLICT.idempotency.in_progress')
  // A route without options ignores all that could be invalid.
  const codes = catalog.filter((code) => !route.ignoresCallerOptions || !code.startsWith('VALIDATION.'))
  const common = codes.filter((code) => others.includes(code) || expressions.some((one) => one.test(code)))
  // The code of a 413 may have another status elsewhere.
  return [{ code: settings['limits.tooLarge'], status: 413 }, ...common.map((code) => ({ code }))]
}

/** Returns whether the profile sets a sunset date for the operation. */
export function isDeprecated({ operation }: Pick<Route, 'operation'>, settings: Settings): boolean {
  return Object.hasOwn(settings['versioning.sunset'].deprecated, operation)
}

/** Returns the status of a code in this deployment. */
export function errorStatus(code: ErrorCode, settings: Settings): number {
  if (code === 'VALIDATION.content_type.unsupported') return settings['errors.unsupportedMedia']
  if (code === 'VALIDATION.accept.unsupported') return settings['errors.notAcceptable']
  if (code === 'VALIDATION.if_match.required') return settings['codes.missingIfMatch']
  if (code === 'AUTHZ.scope.tenant') return settings['auth.crossTenantStatus']
  if (families.session.test(code)) return settings['auth.csrf'].status
  if (code === settings['versioning.sunset'].code) return settings['versioning.sunset'].status
  return errorCatalog[code].http
}

/** An error response of an operation: all errors with one status. */
interface ErrorResponse {
  status: number
  codes: ErrorCode[]
  example: ErrorCode
  /** At least one of its errors may be stored for a key. */
  isStored: boolean
}

/** Returns the error responses of an operation, derived from its route, in the order of their statuses. */
function responsesOf(route: Route, settings: Settings): ErrorResponse[] {
  const own = route.errors
    .map((error): RouteError => (typeof error === 'string' ? { code: error } : error))
    .filter(({ when }) => when?.(settings) ?? true)
  const byStatus = Map.groupBy(
    [...own, ...commonErrorsOf(route, settings)],
    ({ code, status }) => status ?? errorStatus(code, settings),
  )
  const sorted = [...byStatus].sort(([a], [b]) => a - b)
  return sorted.map(([status, errors]) => {
    const codes = inOrder(errors)
    // The best example is an error of the operation itself, and of these one that is stored.
    const [example = ''] = [
      errors.filter(({ stored }) => stored),
      errors.filter((error) => own.includes(error)),
      errors,
    ].flatMap(inOrder)
    return { status, codes, example: example as ErrorCode, isStored: isStored(errors, route) }
  })
}

function inOrder(errors: readonly RouteError[]): ErrorCode[] {
  return catalog.filter((code) => errors.some((error) => error.code === code))
}

/** Returns whether a response with one of these errors may be stored for a key. */
function isStored(errors: readonly RouteError[], { idempotency }: Route): boolean {
  return idempotency !== 'none' && errors.some(({ code, stored }) => stored || families.stored.test(code))
}

/** Returns the error responses of an operation as references, one for each status, with its codes. */
export function errorResponses(route: Route, settings: Settings): Record<string, Json> {
  return Object.fromEntries(
    responsesOf(route, settings).map((response) => [
      String(response.status),
      { ...reference('responses', responseName(response, settings)), description: response.codes.join(', ') },
    ]),
  )
}

/**
 * Returns the error responses that operations refer to, by their names.
 * @throws Error if two different responses have one name
 */
export function sharedErrorResponses(routes: readonly Route[], operations: Json, settings: Settings): Json {
  const used = JSON.stringify(operations)
  const shared: Record<string, Json> = {}
  const responses = routes.flatMap((route) => responsesOf(route, settings))
  const sorted = responses.toSorted((a, b) => catalog.indexOf(a.example) - catalog.indexOf(b.example))
  for (const response of sorted) {
    const name = responseName(response, settings)
    if (!used.includes(JSON.stringify(reference('responses', name).$ref))) continue
    const described = componentOf(response)
    shared[name] ??= described
    if (JSON.stringify(shared[name]) !== JSON.stringify(described))
      throw new Error(`two different responses have the name ${name}`)
  }
  return shared
}

/** Returns the name of a response: that of its example in PascalCase, with whatever differs from other responses. */
function responseName({ example, status, isStored }: ErrorResponse, settings: Settings): string {
  const differing = status === errorStatus(example, settings) ? '' : status
  return `${pascalCase(example.toLowerCase())}${differing}${isStored ? 'Stored' : ''}`
}

function componentOf({ status, codes, example: code, isStored }: ErrorResponse): Json {
  const headers = {
    'X-Correlation-Id': reference('headers', 'CorrelationId'),
    ...([429, 503].includes(status) && { 'Retry-After': reference('headers', 'RetryAfter') }),
    ...(codes.some((one) => families.challenged.test(one)) && {
      'WWW-Authenticate': reference('headers', 'Challenge'),
    }),
    ...(code === 'VALIDATION.content_type.unsupported' && {
      'Accept-Post': reference('headers', 'AcceptPost'),
      'Accept-Patch': reference('headers', 'AcceptPatch'),
    }),
    ...(isStored && { 'Idempotency-Status': reference('headers', 'IdempotencyStatus') }),
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
