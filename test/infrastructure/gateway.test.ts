import { describe, expect, test } from '@jest/globals'
import { routes } from '#functions/routes.ts'
import { type ErrorCode, errorCatalog } from '#shared/error-catalog.ts'
import { securityHeaders } from '#shared/platform/request/respond.ts'
import { gatewayPathOf, methodsByPath } from '#shared/platform/request/route.ts'
import { type Resource, referenceOf, resourceNamed, resourcesOf, synthesise } from './synthesis.ts'

const { template, stacks, settings } = await synthesise('prod')
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
    expect(unknown).toMatch(/^PlatformUnknownRoute/)
    expect(handlerAt('ANY', '')).toBe(unknown)
  })

  const methodsOf = (name: string) => {
    const { METHODS } = resourceNamed(template, 'AWS::Lambda::Function', name).Properties.Environment
      .Variables
    return METHODS && JSON.parse(METHODS)
  }
  const allRoutes = routes.map(({ route }) => route)

  test.each(['PlatformPreflight', 'PlatformUnknownRoute'])('of all paths are known to %s', (name) => {
    expect(methodsOf(name)['/v1/orders']).toEqual(['GET', 'HEAD', 'OPTIONS', 'POST'])
    expect(methodsOf(name)).toEqual(methodsByPath(allRoutes, settings))
  })

  test.each(['CodesRead', 'CodesChangeCode', 'CodesDeleteCode', 'CodesActOnCode'])(
    'of the paths that the gateway cannot distinguish are known to %s',
    (name) => {
      expect(methodsOf(name)).toEqual({
        '/codes/{id}': ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'PUT'],
        '/codes/{id}:restore': ['OPTIONS', 'POST'],
        '/codes/{id}:share': ['OPTIONS', 'POST'],
      })
    },
  )

  test('of a path that the gateway distinguishes are not passed to its function', () => {
    expect(methodsOf('OrdersRead')).toBeUndefined()
  })

  test('declare in preflight responses where cookies are used, and only there', () => {
    const built = resourceNamed(template, 'AWS::Lambda::Function', 'PlatformPreflight')
    const variables = JSON.parse(built.Properties.Environment.Variables.COOKIE_PATHS)
    expect(variables).toEqual({ '/discount/verify': true, '/otp/verify': true })
  })
})

describe('the stage', () => {
  const [[, { Properties: stage }]] = resourcesOf(template, 'AWS::ApiGateway::Stage') as [[string, Resource]]

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

  test('logs the address of the caller, which the log masks', () => {
    expect(JSON.parse(stage.AccessLogSetting.Format)).toMatchObject({
      sourceIp: '$context.identity.sourceIp',
    })
    const { Properties: log } = resourceNamed(template, 'AWS::Logs::LogGroup', 'AccessLog')
    expect(JSON.stringify(log.DataProtectionPolicy)).toContain('IpAddress')
  })

  test('logs one JSON line for each request, without other data of the caller', () => {
    const line = JSON.parse(stage.AccessLogSetting.Format)
    expect(line).toMatchObject({ requestId: '$context.requestId', status: '$context.status' })
    expect(
      Object.values(line).filter((value) => /identity|authorizer|\$context\.path$/.test(String(value))),
    ).toEqual(['$context.identity.sourceIp'])
  })

  test('counts the 5xx responses that no function gave, for the alarm of the whole API', () => {
    const filters = resourcesOf(template, 'AWS::Logs::MetricFilter').map(([, { Properties }]) => Properties)
    expect(filters).toMatchObject([
      {
        FilterPattern: '{ $.status = "5*" && $.gatewayError != "-" }',
        MetricTransformations: [
          { MetricName: 'unanswered_requests', MetricNamespace: 'commerce-prod', MetricValue: '1' },
        ],
      },
    ])
    expect(JSON.parse(stage.AccessLogSetting.Format)).toMatchObject({
      gatewayError: '$context.error.responseType',
    })
  })
})

test('only the local stage has an API with a fixed id', async () => {
  const [[, api]] = resourcesOf(template, 'AWS::ApiGateway::RestApi') as [[string, Resource]]
  expect(JSON.stringify(api)).not.toContain('ms-custom-id')
  const local = await synthesise('local')
  const [[, pinned]] = resourcesOf(local.template, 'AWS::ApiGateway::RestApi') as [[string, Resource]]
  expect(pinned.Properties.Tags).toContainEqual({ Key: 'ms-custom-id', Value: 'c0ffee01' })
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

  test.each(Object.keys(answers).filter((type) => given[type].StatusCode === '503'))(
    '%s is retryable after the longest time of errors.retryAfterSeconds',
    (type) => {
      const { max } = settings['errors.retryAfterSeconds']
      expect(given[type].ResponseParameters['gatewayresponse.header.Retry-After']).toBe(`'${max}'`)
    },
  )

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
      const other = (await synthesise('prod', { changes: { 'cors.allowedOrigins': origins } })).template
      const all = resourcesOf(other, 'AWS::ApiGateway::GatewayResponse')
      expect(JSON.stringify(all)).not.toContain('Access-Control')
      expect(JSON.stringify(all)).toContain(`"gatewayresponse.header.Vary":"'Origin'"`)
    },
  )

  test.each(['THROTTLED', 'QUOTA_EXCEEDED'])('%s has a Retry-After', (type) => {
    const retryAfter = given[type].ResponseParameters['gatewayresponse.header.Retry-After']
    expect(retryAfter).toBe(`'${limits.retryAfterSeconds}'`)
  })
})

interface MethodSetting {
  HttpMethod: string
  ResourcePath: string
  MetricsEnabled: boolean
}

/** `POST /v1/orders`, of each metric of a method in an alarm of any stack. */
function methodsReadByAlarms(): Set<string> {
  const alarms = Object.values(stacks).flatMap((stack) => resourcesOf(stack, 'AWS::CloudWatch::Alarm'))
  const metrics = alarms.flatMap(([, { Properties }]) => [
    Properties,
    ...(Properties.Metrics ?? []).map(({ MetricStat }: Resource['Properties']) => MetricStat?.Metric ?? {}),
  ])
  const dimensions = metrics.map(
    ({ Dimensions = [] }): Record<string, string> =>
      Object.fromEntries(Dimensions.map(({ Name, Value }: Resource['Properties']) => [Name, Value])),
  )
  return new Set(dimensions.flatMap(({ Method, Resource: path }) => (Method ? [`${Method} ${path}`] : [])))
}

/** Returns the path of a resource, joined from its parents. */
function pathOf(id: { Ref?: string; 'Fn::GetAtt'?: [string, string] }): string {
  const resource = template.Resources[referenceOf(id)]
  if (resource?.Type !== 'AWS::ApiGateway::Resource') return ''
  return `${pathOf(resource.Properties.ParentId)}/${resource.Properties.PathPart}`
}

/** The function whose alias a method invokes. */
function handlerOf({ Type, Uri }: { Type: string; Uri: unknown }): string | undefined {
  expect(Type).toBe('AWS_PROXY')
  const alias = JSON.stringify(Uri).match(/functions\/",\{"Ref":"([A-Za-z0-9]+)"\}/)?.[1] ?? ''
  return template.Resources[alias]?.Properties.FunctionName.Ref
}
