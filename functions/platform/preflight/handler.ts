import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda'
import { toRequest, toResult } from '#shared/platform/aws/gateway-event.ts'
import { eventFunction } from '#shared/platform/aws/runtime.ts'
import { newId } from '#shared/platform/base/clock.ts'
import { correlationHeaders, correlationOf } from '#shared/platform/base/correlation.ts'
import { preflightHeaders, securityHeaders } from '#shared/platform/request/respond.ts'

/** Responds to browsers' preflight requests for every path. */
export const handler = eventFunction(
  {},
  (event: APIGatewayProxyEvent, { settings, clock, environment }): APIGatewayProxyResult => {
    /** The methods of each path, set by the stack from the route table: `{"/v1/orders":["GET","HEAD","POST"]}`. */
    const methods: Record<string, string[]> = JSON.parse(environment('METHODS') ?? '{}')
    /** The paths whose operations use cookies. */
    const cookiePaths: string[] = JSON.parse(environment('COOKIE_PATHS') ?? '[]')
    const { headers } = toRequest(event)
    const allowed = [...(methods[event.resource] ?? []), 'OPTIONS']
    return toResult({
      status: 204,
      headers: {
        Allow: allowed.join(', '),
        'Cache-Control': 'no-store',
        ...securityHeaders,
        ...correlationHeaders(correlationOf(headers, settings, () => newId(clock))),
        ...preflightHeaders(headers.origin, allowed, settings, cookiePaths.includes(event.resource)),
      },
      body: undefined,
    })
  },
)
