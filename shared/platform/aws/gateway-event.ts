import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda'
import { newId, systemClock } from '../base/clock.ts'
import { correlationHeaders, correlationOf } from '../base/correlation.ts'
import type { HttpRequest, HttpResponse } from '../base/http.ts'
import { preflightHeaders, securityHeaders } from '../request/respond.ts'
import { deployedSettings } from './deployed-settings.ts'

/** Converts API Gateway's REST proxy event to a request. */
export function toRequest(event: APIGatewayProxyEvent): HttpRequest {
  const query = Object.entries(event.multiValueQueryStringParameters ?? {})
  return {
    method: event.httpMethod,
    path: event.path,
    params: Object.fromEntries(
      Object.entries(event.pathParameters ?? {}).map(([name, value]) => [name, decode(value ?? '')]),
    ),
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

function headersOf({ multiValueHeaders, headers }: APIGatewayProxyEvent): Record<string, string> {
  const sent = Object.entries(multiValueHeaders ?? headers ?? {})
  const named = sent.map(([name, value]) => [name.toLowerCase(), [value ?? ''].flat()] as const)
  return Object.fromEntries(named.map(([name, all]) => [name, all.join(name === 'cookie' ? '; ' : ',')]))
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
export function preflightFunction(): (event: APIGatewayProxyEvent) => Promise<APIGatewayProxyResult> {
  /** The methods of each path, set by the stack from the route table: `{"/v1/orders":["GET","HEAD","POST"]}`. */
  const methods: Record<string, string[]> = JSON.parse(process.env.METHODS ?? '{}')
  /** The paths whose operations use cookies. */
  const cookiePaths: string[] = JSON.parse(process.env.COOKIE_PATHS ?? '[]')
  return async (event) => {
    const { headers } = toRequest(event)
    const settings = deployedSettings()
    const allowed = [...(methods[event.resource] ?? []), 'OPTIONS']
    return toResult({
      status: 204,
      headers: {
        Allow: allowed.join(', '),
        'Cache-Control': 'no-store',
        ...securityHeaders,
        ...correlationHeaders(correlationOf(headers, settings, () => newId(systemClock))),
        ...preflightHeaders(headers.origin, allowed, settings, cookiePaths.includes(event.resource)),
      },
      body: undefined,
    })
  }
}
