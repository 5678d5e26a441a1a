import { describe, expect, test } from '@jest/globals'
import { routes } from '#functions/routes.ts'
import { type ErrorCode, errorCatalog } from '#shared/error-catalog.ts'
import { securityHeaders } from '#shared/platform/request/respond.ts'
import { gatewayPathOf, methodsByPath } from '#shared/platform/request/route.ts'
import { propertiesOf, resourcesOf, templatesOf } from './synthesis.ts'

const { template, watch, settings } = await templatesOf('prod')
const limits = settings['limits.gateway']

/** The path and methods of each route at the gateway. */
const places = routes.map(({ route }) => ({ method: route.method, path: gatewayPathOf(route, settings) }))

describe('methods', () => {
  const methods = resourcesOf(template, 'AWS::ApiGateway::Method').map(([, { Properties }]) => ({
    path: pathOf(Properties.ResourceId),
    method: Properties.HttpMethod as string,
    handler: handlerOf(Properties.Integration),
  }))
  const handlerAt = (method: string, path: string) =>
    methods.find((one) => one.path === path && one.method === method)?.handler

  test('are those of the route table, HEAD for each GET, OPTIONS on each path, and ANY for all others', () => {
    const paths = [...new Set(places.map(({ path }) => path))]
    const expected = [
      ...new Set(places.map(({ method, path }) => `${method} ${path}`)),
      ...places.filter(({ method }) => method === 'GET').map(({ path }) => `HEAD ${path}`),
      ...paths.map((path) => `OPTIONS ${path}`),
      // The root has no name here.
      ...['ANY ', 'ANY /{proxy+}'],
    ]
    expect(methods.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(expected.sort())
  })

  test('have a function each, except PUT, which has the one of PATCH, and HEAD, which has the one of GET', () => {
    const apart = places.filter(({ method }) => method !== 'PUT')
    const distinct = new Set(apart.map(({ method, path }) => `${method} ${path}`))
    expect(new Set(apart.map(({ method, path }) => handlerAt(method, path))).size).toBe(distinct.size)
    expect(handlerAt('PUT', '/codes/{id}')).toBe(handlerAt('PATCH', '/codes/{id}'))
    for (const { path } of places.filter(({ method }) => method === 'GET')) {
      expect(handlerAt('HEAD', path)).toBe(handlerAt('GET', path))
    }
  })

  test('of a request that no endpoint takes are answered by one function, also at the root', () => {
    const unknown = handlerAt('ANY', '/{proxy+}')
    expect(unknown).toBe('<PlatformUnknownRoute>')
    expect(handlerAt('ANY', '')).toBe(unknown)
  })

  const variablesOf = (name: string) => propertiesOf(template, name).Environment.Variables
  const methodsOf = (name: string) => JSON.parse(variablesOf(name).METHODS)
  const allRoutes = routes.map(({ route }) => route)

  test.each(['PlatformPreflight', 'PlatformUnknownRoute'])('of all paths are known to %s', (name) => {
    expect(methodsOf(name)['/v1/orders']).toEqual(['GET', 'HEAD', 'OPTIONS', 'POST'])
    expect(methodsOf(name)).toEqual(methodsByPath(allRoutes, settings))
  })

  test.each(['CodesRead', 'CodesChangeCode', 'CodesDeleteCode', 'CodesActOnCode'])(
    'of the paths that the gateway cannot distinguish are known to %s',
    (name) => {
      expect(methodsOf(name)).toMatchObject({
        '/codes/{id}': ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'PUT'],
        '/codes/{id}:restore': ['OPTIONS', 'POST'],
        '/codes/{id}:share': ['OPTIONS', 'POST'],
      })
    },
  )

  test('of a path that the gateway distinguishes are not passed to its function', () => {
    expect(variablesOf('OrdersList')).not.toHaveProperty('METHODS')
  })

  test('declare in preflight responses where cookies are used, and only there', () => {
    expect(JSON.parse(variablesOf('PlatformPreflight').COOKIE_PATHS)).toEqual({
      '/discount/verify': true,
      '/otp/verify': true,
    })
  })
})

describe('the stage', () => {
  const stage = propertiesOf(template, 'ApiDeploymentStageprod')

  test('has the configured throttles, is traced, and never logs bodies', () => {
    expect(stage.TracingEnabled).toBe(true)
    expect(stage.MethodSettings[0]).toEqual({
      HttpMethod: '*',
      ResourcePath: '/*',
      ThrottlingRateLimit: limits.requestsPerSecond,
      ThrottlingBurstLimit: limits.burst,
      MetricsEnabled: false,
      LoggingLevel: 'ERROR',
      DataTraceEnabled: false,
    })
  })

  test('has metrics of exactly the methods that alarms read', () => {
    const measured = stage.MethodSettings.filter((one: MethodSetting) => one.MetricsEnabled).map(
      ({ HttpMethod, ResourcePath }: MethodSetting) =>
        `${HttpMethod} ${ResourcePath.slice(1).replaceAll('~1', '/')}`,
    )
    expect(measured.sort()).toEqual([...methodsReadByAlarms()].sort())
  })

  test('logs one JSON line for each request, with the masked address and no other data of the caller', () => {
    const line = JSON.parse(stage.AccessLogSetting.Format)
    expect(line).toMatchObject({
      requestId: '$context.requestId',
      status: '$context.status',
      gatewayError: '$context.error.responseType',
    })
    const ofCaller = Object.values<string>(line).filter((one) =>
      /identity|authorizer|\$context\.path$/.test(one),
    )
    expect(ofCaller).toEqual(['$context.identity.sourceIp'])
  })
})

describe('responses of the gateway itself', () => {
  const answers: Record<string, ErrorCode> = {
    DEFAULT_4XX: 'VALIDATION.request.invalid',
    DEFAULT_5XX: 'DEPENDENCY.unavailable',
    ACCESS_DENIED: 'AUTHZ.request.denied',
    API_CONFIGURATION_ERROR: 'DEPENDENCY.unavailable',
    AUTHORIZER_CONFIGURATION_ERROR: 'DEPENDENCY.unavailable',
    AUTHORIZER_FAILURE: 'DEPENDENCY.unavailable',
    BAD_REQUEST_BODY: 'VALIDATION.request.invalid',
    BAD_REQUEST_PARAMETERS: 'VALIDATION.request.invalid',
    EXPIRED_TOKEN: 'AUTH.token.expired',
    INTEGRATION_FAILURE: 'DEPENDENCY.unavailable',
    INTEGRATION_TIMEOUT: 'DEPENDENCY.timeout',
    INVALID_API_KEY: 'AUTHZ.request.denied',
    INVALID_SIGNATURE: 'AUTH.invalid_credentials',
    MISSING_AUTHENTICATION_TOKEN: 'NOT_FOUND.route',
    QUOTA_EXCEEDED: 'RATE_LIMIT.exceeded',
    REQUEST_TOO_LARGE: 'VALIDATION.body.too_large',
    RESOURCE_NOT_FOUND: 'NOT_FOUND.route',
    THROTTLED: 'RATE_LIMIT.exceeded',
    UNAUTHORIZED: 'AUTH.invalid_credentials',
    UNSUPPORTED_MEDIA_TYPE: 'VALIDATION.content_type.unsupported',
    WAF_FILTERED: 'AUTHZ.request.denied',
  }
  const given = Object.fromEntries(
    resourcesOf(template, 'AWS::ApiGateway::GatewayResponse').map(([, { Properties }]) => [
      Properties.ResponseType,
      Properties,
    ]),
  )

  test('include every type of gateway response', () => {
    expect(Object.keys(given).sort()).toEqual(Object.keys(answers).sort())
  })

  test.each(Object.entries(answers))('%s is the envelope of %s', (type, code) => {
    const { http, retryable } = errorCatalog[code]
    expect(given[type].StatusCode).toBe(String(http))
    expect(JSON.parse(given[type].ResponseTemplates['application/json'])).toEqual({
      error: {
        code,
        message_id: `error.${code.toLowerCase()}`,
        http,
        retryable,
        correlation_id: '$context.requestId',
        details: http === 401 ? { www_authenticate: 'Bearer realm="commerce-api"' } : {},
      },
    })
  })

  test.each(Object.keys(answers))('%s has the headers of every response', (type) => {
    const constants = { ...securityHeaders, 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }
    for (const [name, value] of Object.entries(constants)) {
      expect(given[type].ResponseParameters[`gatewayresponse.header.${name}`]).toBe(`'${value}'`)
    }
    expect(given[type].ResponseParameters['gatewayresponse.header.X-Correlation-Id']).toBe(
      'context.requestId',
    )
  })

  test('can be read by a page of the only allowed origin', () => {
    const parameters = given.THROTTLED.ResponseParameters
    const [origin] = settings['cors.allowedOrigins']
    expect(settings['cors.allowedOrigins']).toHaveLength(1)
    expect(parameters['gatewayresponse.header.Access-Control-Allow-Origin']).toBe(`'${origin}'`)
    expect(parameters['gatewayresponse.header.Access-Control-Expose-Headers']).toContain('Retry-After')
  })

  test.each([[[]], [['https://a.example', 'https://b.example']]])(
    'name no origin if %j are allowed',
    async (origins) => {
      const other = await templatesOf('prod', { changes: { 'cors.allowedOrigins': origins } })
      const all = JSON.stringify(resourcesOf(other.template, 'AWS::ApiGateway::GatewayResponse'))
      expect(all).not.toContain('Access-Control')
      expect(all).toContain(`"gatewayresponse.header.Vary":"'Origin'"`)
    },
  )

  const retryAfterOf = (type: string) => given[type].ResponseParameters['gatewayresponse.header.Retry-After']

  test.each(Object.keys(answers).filter((type) => given[type].StatusCode === '503'))(
    '%s is retryable after the longest time of errors.retryAfterSeconds',
    (type) => expect(retryAfterOf(type)).toBe(`'${settings['errors.retryAfterSeconds'].max}'`),
  )

  test.each(['THROTTLED', 'QUOTA_EXCEEDED'])('%s has a Retry-After', (type) => {
    expect(retryAfterOf(type)).toBe(`'${limits.retryAfterSeconds}'`)
  })
})

interface MethodSetting {
  HttpMethod: string
  ResourcePath: string
  MetricsEnabled: boolean
}

/** `POST /v1/orders`, of each metric of a method in an alarm. */
function methodsReadByAlarms(): Set<string> {
  const read = [
    ...resourcesOf(watch, 'AWS::CloudWatch::Alarm'),
    ...resourcesOf(template, 'AWS::CloudWatch::Alarm'),
  ]
  const methods = JSON.stringify(read).matchAll(
    /"Name":"Method","Value":"(\w+)"},{"Name":"Resource","Value":"([^"]+)"/g,
  )
  return new Set(Array.from(methods, ([, method, path]) => `${method} ${path}`))
}

/** Returns the path of a resource, joined from its parents. */
function pathOf(reference: string): string {
  const [, id = ''] = /^<(\w+)>$/.exec(reference) ?? []
  if (template.Resources[id]?.Type !== 'AWS::ApiGateway::Resource') return ''
  const { ParentId, PathPart } = propertiesOf(template, id)
  return `${pathOf(ParentId)}/${PathPart}`
}

/** The function whose alias a method invokes. */
function handlerOf({ Type, Uri }: { Type: string; Uri: string }): string | undefined {
  expect(Type).toBe('AWS_PROXY')
  const [, alias = ''] = /functions\/<(\w+)>/.exec(Uri) ?? []
  return propertiesOf(template, alias).FunctionName
}
