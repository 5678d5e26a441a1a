import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda'
import type { HttpRequest, HttpResponse } from './request.ts'

/** API Gateway's REST proxy event as a request. */
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

/** @param basePath what stands before the service's paths in its public address, for Location */
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

/** The stage of a plain gateway address, the mapping of a custom domain, or what the deployment says it is. */
export function basePathOf({ path, requestContext }: APIGatewayProxyEvent): string {
  const { BASE_PATH: known } = process.env
  if (known !== undefined) return known
  const full = requestContext.path ?? path
  return full.endsWith(path) ? full.slice(0, full.length - path.length) : ''
}

function headersOf({ multiValueHeaders, headers }: APIGatewayProxyEvent): Record<string, string> {
  const single = Object.entries(headers ?? {}).map(([name, value]) => [name, value ?? ''] as const)
  const multiple = Object.entries(multiValueHeaders ?? {}).map(
    ([name, values]) => [name, (values ?? []).join(',')] as const,
  )
  return Object.fromEntries([...single, ...multiple].map(([name, value]) => [name.toLowerCase(), value]))
}

/**
 * The gateway sends bodies of the types that some operation takes in base64, byte for byte. A body of another type comes
 * as text, in which the gateway has replaced what is not UTF-8, and is refused for its type.
 */
function bodyOf({ body, isBase64Encoded }: APIGatewayProxyEvent): Uint8Array | undefined {
  if (body === null || body === undefined || body === '') return undefined
  return Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8')
}

/** A path variable comes as it stands in the path; one that is not valid percent-encoding names nothing. */
function decode(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}
