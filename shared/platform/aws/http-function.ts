import middy from '@middy/core'
import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context } from 'aws-lambda'
import type * as v from 'valibot'
import { newId } from '../base/clock.ts'
import { withCorrelation } from '../base/correlation.ts'
import type { HttpRequest, HttpResponse } from '../base/http.ts'
import type { Endpoint } from '../request/endpoint.ts'
import { answerCutShort, handleRequest } from '../request/handle-request.ts'
import type { Runtime } from '../request/passage.ts'
import { deployedRuntime, type RuntimeOptions } from './runtime.ts'

/** The margin before Lambda's timeout, so callers get an error envelope instead of the gateway's bare 502. */
const earlyMilliseconds = 300

/**
 * Turns the endpoints of one gateway method into a function on AWS. The only file that uses middy.
 * @param makeRuntime creates the runtime at the first request
 */
export function httpFunction<Body extends v.GenericSchema>(
  endpoints: Endpoint<Body> | readonly Endpoint[],
  options: RuntimeOptions = {},
  makeRuntime: (options: RuntimeOptions) => Runtime = deployedRuntime,
) {
  const served = (Array.isArray(endpoints) ? endpoints : [endpoints]) as readonly Endpoint[]
  let made: Runtime | undefined
  const cutShort = new WeakMap<APIGatewayProxyEvent, () => APIGatewayProxyResult>()
  return middy<APIGatewayProxyEvent, APIGatewayProxyResult, Error, Context>({
    timeoutEarlyInMillis: earlyMilliseconds,
    // Middy does not pass the request here, so the early response is created in `after`.
    timeoutEarlyResponse: () => undefined,
  })
    .handler(async (event, _context, { signal }) => {
      made ??= makeRuntime(options)
      const runtime = made
      const startedAt = runtime.clock.now()
      // A generated id must be the same in the early response and in the request's writes.
      const request = withCorrelation(toRequest(event), runtime.settings, () => newId(runtime.clock))
      cutShort.set(event, () =>
        toResult(answerCutShort(served, request, runtime, startedAt), basePathOf(event)),
      )
      return toResult(await handleRequest(served, request, runtime, signal), basePathOf(event))
    })
    .after((request) => {
      request.response ??= cutShort.get(request.event)?.()
    })
}

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

/** Returns the base path: the deployment's BASE_PATH, else the gateway's stage or the mapping of a custom domain. */
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
