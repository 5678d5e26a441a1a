import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda'
import { newId, systemClock } from '../base/clock.ts'
import { correlationHeaders, correlationOf } from '../base/correlation.ts'
import { preflightHeaders, securityHeaders } from '../request/respond.ts'
import { deployedSettings } from './deployed-settings.ts'
import { toRequest, toResult } from './gateway-event.ts'

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
