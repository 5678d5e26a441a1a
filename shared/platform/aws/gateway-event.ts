import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda'
import { newId, systemClock } from '../base/clock.ts'
import { correlationHeaders, correlationOf } from '../base/correlation.ts'
import { fail } from '../base/failure.ts'
import type { HttpRequest, HttpResponse } from '../base/http.ts'
import { corsHeaders, preflightHeaders, renderFailure, securityHeaders } from '../request/respond.ts'
import { atPath } from '../request/route.ts'
import { deployedSettings } from './deployed-settings.ts'

/** Converts API Gateway's REST proxy event to a request. */
export function toRequest(event: APIGatewayProxyEvent): HttpRequest {
  const query = Object.entries(event.multiValueQueryStringParameters ?? {})
  const params: Record<string, string> = Object.fromEntries(
    Object.entries(event.pathParameters ?? {}).map(([name, value]) => [name, decode(value ?? '')]),
  )
  return {
    method: event.httpMethod,
    // Unlike the path of the event, this one never has the base path of a domain: {proxy+} is the rest of a path.
    path: event.resource.replace(/\{(\w+)\+?\}/g, (_, name) => params[name] ?? ''),
    params,
    query: query.flatMap(([name, values]) => (values ?? []).map((value) => [name, value] as const)),
    headers: headersOf(event),
    body: bodyOf(event),
    sourceAddress: event.requestContext?.identity?.sourceIp ?? '',
  }
}

/** @param basePath the public path before the service's paths, for Location */
export function toResult(
  { status, headers, cookies = [], body }: HttpResponse,
  basePath = '',
): APIGatewayProxyResult {
  const { Location: location } = headers
  const within = location?.startsWith('/')
  const placed = within ? { ...headers, Location: `${basePath}${location}` } : headers
  const multiple = cookies.length > 0 && { multiValueHeaders: { 'Set-Cookie': [...cookies] } }
  return { statusCode: status, headers: placed, ...multiple, body: body ?? '' }
}

/** Returns the base path: the deployment's own, else the gateway's stage or the mapping of a custom domain. */
export function basePathOf(
  { path, requestContext }: APIGatewayProxyEvent,
  deployed: string | undefined,
): string {
  if (deployed !== undefined) return deployed
  const full = requestContext.path ?? path
  return full.endsWith(path) ? full.slice(0, full.length - path.length) : ''
}

/** The space makes a repeated Idempotency-Key invalid: a comma alone may be part of a key. */
function headersOf({ multiValueHeaders, headers }: APIGatewayProxyEvent): Record<string, string> {
  const sent = Object.entries(multiValueHeaders ?? headers ?? {})
  const named = sent.map(([name, value]) => [name.toLowerCase(), [value ?? ''].flat()] as const)
  return Object.fromEntries(named.map(([name, all]) => [name, all.join(name === 'cookie' ? '; ' : ', ')]))
}

/**
 * Reads a body. The gateway sends accepted media types in base64, byte for byte. Other types arrive as text in which
 * the gateway has replaced invalid UTF-8; they are rejected for their type.
 */
function bodyOf({ body, isBase64Encoded }: APIGatewayProxyEvent): Uint8Array | undefined {
  if (body === null || body === undefined || body === '') return undefined
  return Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8')
}

/** Decodes a path variable, which arrives percent-encoded. Invalid encoding is kept and matches no item. */
function decode(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

/** Returns a function that responds to browsers' preflight requests for every path. */
export function preflightFunction(
  settingsOf = deployedSettings,
): (event: APIGatewayProxyEvent) => Promise<APIGatewayProxyResult> {
  /** The methods of each path, set by the stack from the route table (see `methodsByPath`). */
  const methods: Record<string, string[]> = JSON.parse(process.env.METHODS ?? '{}')
  /** The paths whose operations use cookies: `{"/otp/verify":true}`. */
  const cookiePaths: Record<string, true> = JSON.parse(process.env.COOKIE_PATHS ?? '{}')
  return async (event) => {
    const { path, headers } = toRequest(event)
    const settings = settingsOf()
    const correlation = correlationOf(headers, settings, () => newId(systemClock))
    const allowed = atPath(path, methods)
    const withCookies = atPath(path, cookiePaths) ?? false
    const answer = allowed
      ? {
          status: 204,
          headers: {
            Allow: allowed.join(', '),
            ...preflightHeaders(headers.origin, allowed, settings, withCookies),
          },
          body: undefined,
        }
      : renderFailure(fail('NOT_FOUND.route'), correlation, settings)
    return toResult({
      ...answer,
      headers: {
        'Cache-Control': 'no-store',
        ...corsHeaders(headers.origin, settings, withCookies),
        ...answer.headers,
        ...securityHeaders,
        ...correlationHeaders(correlation),
      },
    })
  }
}
