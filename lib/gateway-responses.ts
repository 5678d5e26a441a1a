import { ResponseType, type RestApi } from 'aws-cdk-lib/aws-apigateway'
import type { ErrorCode } from '#shared/error-catalog.ts'
import { envelope, type Failure, fail } from '#shared/platform/base/failure.ts'
import { securityHeaders } from '#shared/platform/request/respond.ts'
import type { Settings } from '#shared/settings/register.ts'

/** Adds the responses for failures that the gateway detects itself, in the format of the functions. */
export function addGatewayResponses(api: RestApi, settings: Settings): void {
  const invalid = fail('VALIDATION.request.invalid')
  const noRoute = fail('NOT_FOUND.route')
  const noCredentials = fail('AUTH.invalid_credentials', { headers: challenge })
  const denied = fail('AUTHZ.request.denied')
  const limited = fail('RATE_LIMIT.exceeded', {
    retryAfterSeconds: settings['limits.gateway'].retryAfterSeconds,
  })
  const unexpected = fail('INTERNAL.unexpected')
  const responses: [ResponseType, Failure][] = [
    [ResponseType.DEFAULT_4XX, invalid],
    [ResponseType.DEFAULT_5XX, unexpected],
    [ResponseType.ACCESS_DENIED, denied],
    [ResponseType.API_CONFIGURATION_ERROR, unexpected],
    [ResponseType.AUTHORIZER_CONFIGURATION_ERROR, unexpected],
    [ResponseType.AUTHORIZER_FAILURE, unexpected],
    [ResponseType.BAD_REQUEST_BODY, invalid],
    [ResponseType.BAD_REQUEST_PARAMETERS, invalid],
    [ResponseType.EXPIRED_TOKEN, fail('AUTH.token.expired', { headers: challenge })],
    [ResponseType.INTEGRATION_FAILURE, fail('DEPENDENCY.bad_gateway')],
    [ResponseType.INTEGRATION_TIMEOUT, fail('DEPENDENCY.timeout')],
    [ResponseType.INVALID_API_KEY, denied],
    [ResponseType.INVALID_SIGNATURE, noCredentials],
    // The response for an unknown path or method.
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
      responseHeaders: gatewayHeaders(failure),
      templates: { 'application/json': JSON.stringify(envelope(failure, '$context.requestId')) },
    })
  }
}

const challenge = { 'WWW-Authenticate': 'Bearer realm="commerce-api"' }

/** Returns the headers in the gateway's mapping syntax: constants are in single quotes, variables are not. */
function gatewayHeaders({ headers }: Failure): Record<string, string> {
  const constants = {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    Vary: 'Origin',
    ...securityHeaders,
    ...headers,
  }
  return {
    ...Object.fromEntries(Object.entries(constants).map(([name, value]) => [name, `'${value}'`])),
    'X-Correlation-Id': 'context.requestId',
  }
}
