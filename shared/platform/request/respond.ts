import * as v from 'valibot'
import type { Settings } from '../../settings/register.ts'
import type { Clock } from '../base/clock.ts'
import { type Correlation, correlationHeaders } from '../base/correlation.ts'
import { envelope, type Failure, fail, toFailure } from '../base/failure.ts'
import type { HttpRequest, HttpResponse } from '../base/http.ts'
import type { Decision } from '../idempotency/decision.ts'
import type { StoredResponse } from '../idempotency/idempotency-record.ts'
import type { Outcome } from '../idempotency/run-once.ts'
import type { RequestContext } from './context.ts'
import { checkIfMatch, entityTag, matchesEtag } from './parse-headers.ts'
import { hasBody, type Route, usesCookies } from './route.ts'

/**
 * Renders a decision. Its body is a whole view, of which the schema of the route leaves out what settings leave out. One
 * that violates the schema is a fault, found before anything is committed.
 */
export function renderDecision(
  decision: Decision,
  route: Route,
  settings: Settings,
  correlation: Correlation,
): StoredResponse {
  if (decision.failure) return renderFailure(decision.failure, correlation, settings)
  const { status, location } = decision
  const body = decision.body === undefined ? undefined : v.parse(route.reply.schema(settings), decision.body)
  const etag = decision.etag ?? (route.reply.etag ? entityTag(body) : undefined)
  const type = route.reply.mediaType?.(settings) ?? 'application/json'
  const cacheable = etag !== undefined && !hasBody(route)
  const headers = {
    ...(etag !== undefined && { ETag: etag }),
    ...(cacheable && { 'Cache-Control': 'private, no-cache' }),
    ...(location !== undefined && { Location: location }),
    ...(body !== undefined && { 'Content-Type': type }),
    ...decision.headers,
  }
  return { status, headers, body: body === undefined ? undefined : textOf(body, type) }
}

function textOf(body: unknown, mediaType: string): string {
  return typeof body === 'string' && !/[/+]json\b/.test(mediaType) ? body : JSON.stringify(body)
}

/** Renders the error envelope. */
export function renderFailure(
  failure: Failure,
  correlation: Correlation,
  settings: Settings,
): StoredResponse {
  return {
    status: failure.http,
    headers: { 'Content-Type': 'application/json', ...failure.headers },
    body: JSON.stringify(envelope(failure, correlation.id, settings['errors.docs'])),
  }
}

/** Returns the outcome of a request that failed or was rejected. */
export function failureOutcome(
  thrown: unknown,
  { correlation, settings }: Pick<RequestContext, 'correlation' | 'settings'>,
): Outcome {
  const failure = toFailure(thrown)
  return { response: renderFailure(failure, correlation, settings), failure }
}

/** Builds the response of an outcome: its status and headers by the route, the request and the settings. */
export function respond(
  context: Pick<RequestContext, 'route' | 'request' | 'correlation' | 'settings' | 'clock'>,
  outcome: Outcome,
  cookies: readonly string[] = [],
): HttpResponse {
  const { route, request, correlation, settings, clock } = context
  const { status, headers, body } = conditional(request, withReplayStatus(outcome, route, settings))
  return {
    status,
    headers: {
      'Cache-Control': 'no-store',
      ...(status === 503 && randomRetryAfter(settings, clock)),
      ...headers,
      ...securityHeaders,
      ...correlationHeaders(correlation),
      ...deprecationHeaders(route.operation, settings),
      ...corsHeaders(request.headers.origin, settings, usesCookies(route, settings)),
    },
    cookies,
    body,
  }
}

/** Returns a random Retry-After: callers that failed together do not come back together. */
function randomRetryAfter(settings: Settings, clock: Clock): Record<string, string> {
  const { min, max } = settings['errors.retryAfterSeconds']
  return { 'Retry-After': String(min + Math.floor(clock.jitter() * (max - min + 1))) }
}

/** Reports whether a keyed response is a replay. */
function withReplayStatus({ response, status }: Outcome, route: Route, settings: Settings): StoredResponse {
  if (status === undefined) return response
  const replayStatus = response.status < 300 ? route.reply.replayStatus?.(settings) : undefined
  return {
    ...response,
    status: (status === 'replayed' && replayStatus) || response.status,
    // An endpoint may report another kind of replay, whatever the key.
    headers: { 'Idempotency-Status': status, ...response.headers },
  }
}

/**
 * Checks If-Match of a read. It precedes If-None-Match (RFC 9110 13.2.2).
 * @throws CONFLICT.etag.mismatch
 */
export function checkIfMatchOfRead({ method, headers }: HttpRequest, { response }: Outcome): void {
  const { ETag: etag } = response.headers
  if (isReadMethod(method) && etag !== undefined) checkIfMatch(headers['if-match'], etag)
}

/** Returns whether a method asks for a representation; HEAD asks for its headers alone. */
function isReadMethod(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** Returns 304 if the caller has the current entity. */
function conditional({ method, headers: sent }: HttpRequest, response: StoredResponse): StoredResponse {
  const { ETag: etag, 'Content-Type': _, ...headers } = response.headers
  if (!isReadMethod(method) || etag === undefined || !matchesEtag(sent['if-none-match'], etag))
    return response
  return { status: 304, headers: { ETag: etag, ...headers }, body: undefined }
}

/** The security headers of every response, including the gateway's own. */
export const securityHeaders = {
  'Content-Security-Policy': "default-src 'self'; frame-ancestors 'none'",
  'Strict-Transport-Security': 'max-age=31536000; includeSubDomains',
  'X-Frame-Options': 'DENY',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'strict-origin-when-cross-origin',
} as const

/** The request headers that browsers may send to every operation. */
const requestHeaders = [
  'Authorization',
  'Content-Type',
  'Accept',
  'Idempotency-Key',
  'If-Match',
  'If-None-Match',
  'X-Correlation-Id',
  'X-Request-Timeout',
  'traceparent',
  'tracestate',
  'baggage',
] as const

const exposedHeaders = [
  'X-Correlation-Id',
  'ETag',
  'Idempotency-Status',
  'Location',
  'Retry-After',
  'WWW-Authenticate',
  // API Gateway renames WWW-Authenticate in a function's response to this.
  'x-amzn-Remapped-WWW-Authenticate',
  'Content-Disposition',
  'Deprecation',
  'Sunset',
  'traceparent',
  'tracestate',
  'baggage',
].join(', ')

/**
 * Returns the CORS headers for an origin: none unless it is on the allow-list, and never a wildcard.
 * @param cookies whether the operation uses cookies
 */
export function corsHeaders(
  origin: string | undefined,
  settings: Settings,
  cookies: boolean,
): Record<string, string> {
  if (origin === undefined || !settings['cors.allowedOrigins'].includes(origin)) return { Vary: 'Origin' }
  return {
    'Access-Control-Allow-Origin': origin,
    ...(cookies && { 'Access-Control-Allow-Credentials': 'true' }),
    'Access-Control-Expose-Headers': exposedHeaders,
    Vary: 'Origin',
  }
}

/** Returns the headers of a preflight response for a path with these methods. */
export function preflightHeaders(
  origin: string | undefined,
  methods: readonly string[],
  settings: Settings,
  cookies: boolean,
): Record<string, string> {
  const allowed = corsHeaders(origin, settings, cookies)
  if (!('Access-Control-Allow-Origin' in allowed)) return allowed
  const own = [
    settings['auth.nonce'].header,
    settings['codes.hardDeleteReason'].header,
    settings['discount.cart'].header,
    settings['auth.apiKeyHeader'],
    settings['auth.csrf'].header,
  ]
  return {
    ...allowed,
    'Access-Control-Allow-Methods': methods.join(', '),
    'Access-Control-Allow-Headers': [...requestHeaders, ...own].join(', '),
    'Access-Control-Max-Age': '600',
  }
}

/**
 * Returns the headers of a deprecated operation: its deprecation (RFC 9745) and its end (RFC 8594). Empty for other
 * operations.
 */
function deprecationHeaders(operation: string, settings: Settings): Record<string, string> {
  const dates = datesOf(operation, settings)
  if (!dates) return {}
  return {
    Deprecation: `@${dates.deprecated / 1000}`,
    Sunset: new Date(dates.sunset).toUTCString(),
  }
}

/**
 * Rejects requests for an operation after its sunset, replays included.
 * @param now milliseconds since 1970
 * @throws the code and status of the setting versioning.sunset
 */
export function checkSunset(operation: string, settings: Settings, now: number): void {
  const dates = datesOf(operation, settings)
  if (!dates || now < dates.sunset) return
  const { code, status } = settings['versioning.sunset']
  throw fail(code, { http: status })
}

/** Both in milliseconds since 1970; a date in the profile starts at midnight UTC. */
function datesOf(operation: string, settings: Settings): { deprecated: number; sunset: number } | undefined {
  const { deprecated } = settings['versioning.sunset']
  const dates = Object.hasOwn(deprecated, operation) ? deprecated[operation] : undefined
  return dates && { deprecated: Date.parse(dates.deprecatedAt), sunset: Date.parse(dates.sunsetAt) }
}

/** Returns a message for each operation whose sunset comes sooner after its deprecation than the profile promises. */
export function prematureSunsets(settings: Settings): string[] {
  const { windowDays, deprecated } = settings['versioning.sunset']
  return Object.keys(deprecated).flatMap((operation) => {
    const { deprecated: from = 0, sunset: to = 0 } = datesOf(operation, settings) ?? {}
    const days = (to - from) / 86_400_000
    return days < windowDays
      ? [`${operation} ends ${days} days after its deprecation, but callers are promised ${windowDays}`]
      : []
  })
}
