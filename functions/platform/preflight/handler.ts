import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda'
import { deployedSettings } from '#shared/platform/aws/deployed-settings.ts'
import { toRequest, toResult } from '#shared/platform/aws/http-function.ts'
import { newId, systemClock } from '#shared/platform/base/clock.ts'
import { correlationHeaders, correlationOf } from '#shared/platform/base/correlation.ts'
import { preflightHeaders, securityHeaders } from '#shared/platform/request/respond.ts'

/** The methods of each path, set by the stack from the route table: `{"/v1/orders":["GET","HEAD","POST"]}`. */
const methods: Record<string, string[]> = JSON.parse(process.env.METHODS ?? '{}')

/** The paths whose operations use cookies. */
const cookiePaths: string[] = JSON.parse(process.env.COOKIE_PATHS ?? '[]')

/** Responds to browsers' preflight requests for every path. */
export async function handler(event: APIGatewayProxyEvent): Promise<APIGatewayProxyResult> {
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
