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
  }
}

export function toResult({ status, headers, body }: HttpResponse): APIGatewayProxyResult {
  return { statusCode: status, headers, body: body ?? '' }
}

function headersOf({ multiValueHeaders, headers }: APIGatewayProxyEvent): Record<string, string> {
  const single = Object.entries(headers ?? {}).map(([name, value]) => [name, value ?? ''] as const)
  const multiple = Object.entries(multiValueHeaders ?? {}).map(
    ([name, values]) => [name, (values ?? []).join(',')] as const,
  )
  return Object.fromEntries([...single, ...multiple].map(([name, value]) => [name.toLowerCase(), value]))
}

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
