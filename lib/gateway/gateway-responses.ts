import { ResponseType, type RestApi } from 'aws-cdk-lib/aws-apigateway'
import type { ErrorCode } from '#shared/error-catalog.ts'
import { envelope, type Failure, fail } from '#shared/platform/base/failure.ts'
import { corsHeaders, securityHeaders } from '#shared/platform/request/respond.ts'
import type { Settings } from '#shared/settings/register.ts'

/**
 * Adds the responses for failures that the gateway detects itself, in the format of the functions. Its own faults are
 * 503: the gateway reports a throttled function, a wrong configuration and a failed call alike, as a plain 500.
 */
export function addGatewayResponses(api: RestApi, settings: Settings): void {
  const page = settings['errors.docs']
  const invalid = fail('VALIDATION.request.invalid')
  const noRoute = fail('NOT_FOUND.route')
  const noCredentials = fail('AUTH.invalid_credentials', { challenge })
  const denied = fail('AUTHZ.request.denied')
  const limited = fail('RATE_LIMIT.exceeded', {
    retryAfterSeconds: settings['limits.gateway'].retryAfterSeconds,
  })
  const unavailable = fail('DEPENDENCY.unavailable', {
    // The gateway sends constants only. After the longest time an overload is most likely over.
    retryAfterSeconds: settings['errors.retryAfterSeconds'].max,
  })
  const responses: [ResponseType, Failure][] = [
    [ResponseType.DEFAULT_4XX, invalid],
    [ResponseType.DEFAULT_5XX, unavailable],
    [ResponseType.ACCESS_DENIED, denied],
    [ResponseType.API_CONFIGURATION_ERROR, unavailable],
    [ResponseType.AUTHORIZER_CONFIGURATION_ERROR, unavailable],
    [ResponseType.AUTHORIZER_FAILURE, unavailable],
    [ResponseType.BAD_REQUEST_BODY, invalid],
    [ResponseType.BAD_REQUEST_PARAMETERS, invalid],
    [ResponseType.EXPIRED_TOKEN, fail('AUTH.token.expired', { challenge })],
    [ResponseType.INTEGRATION_FAILURE, unavailable],
    [ResponseType.INTEGRATION_TIMEOUT, fail('DEPENDENCY.timeout')],
    [ResponseType.INVALID_API_KEY, denied],
    [ResponseType.INVALID_SIGNATURE, noCredentials],
    // A function answers unknown paths and methods. This is for requests that the gateway rejects before it.
    [ResponseType.MISSING_AUTHENTICATION_TOKEN, noRoute],
    [ResponseType.QUOTA_EXCEEDED, limited],
    [ResponseType.REQUEST_TOO_LARGE, fail(settings['limits.tooLarge'] as ErrorCode, { http: 413 })],
    [ResponseType.RESOURCE_NOT_FOUND, noRoute],
    [ResponseType.THROTTLED, limited],
    [ResponseType.UNAUTHORIZED, noCredentials],
    [ResponseType.UNSUPPORTED_MEDIA_TYPE, fail('VALIDATION.content_type.unsupported')],
    [ResponseType.WAF_FILTERED, denied],
  ]
  for (const [type, failure] of responses) {
    api.addGatewayResponse(`Answer${type.responseType}`, {
      type,
      statusCode: String(failure.http),
      responseHeaders: gatewayHeaders(failure, settings),
      templates: { 'application/json': JSON.stringify(envelope(failure, '$context.requestId', page)) },
    })
  }
}

const challenge = 'Bearer realm="commerce-api"'

/**
 * Returns the CORS headers. The gateway cannot compare origins, so only a single allowed origin can be named. These
 * responses are the same for all callers, so they may be read with credentials.
 */
function corsHeadersOf(settings: Settings): Record<string, string> {
  const [only, ...others] = settings['cors.allowedOrigins']
  return corsHeaders(others.length === 0 ? only : undefined, settings, true)
}

/** Returns the headers in the gateway's mapping syntax: constants are in single quotes, variables are not. */
function gatewayHeaders({ headers }: Failure, settings: Settings): Record<string, string> {
  const constants = {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    ...corsHeadersOf(settings),
    ...securityHeaders,
    ...headers,
  }
  return {
    ...Object.fromEntries(Object.entries(constants).map(([name, value]) => [name, `'${value}'`])),
    'X-Correlation-Id': 'context.requestId',
  }
}
