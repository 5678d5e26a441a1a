import { Tags, Validations } from 'aws-cdk-lib'
import {
  AccessLogFormat,
  type CfnRestApi,
  EndpointType,
  LambdaIntegration,
  LogGroupLogDestination,
  type MethodDeploymentOptions,
  MethodLoggingLevel,
  RestApi,
} from 'aws-cdk-lib/aws-apigateway'
import type { Key } from 'aws-cdk-lib/aws-kms'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import type { Construct } from 'constructs'
import { bodyTypesOf, gatewayPathOf } from '#shared/platform/http/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { type CustomDomain, serveUnder } from './custom-domain.ts'
import { type Endpoint, methodsOf } from './endpoint-functions.ts'
import { gatewayAnswers, gatewayHeaders, gatewayTemplate } from './gateway-responses.ts'
import { serviceLog } from './service-log.ts'
import type { Stage } from './stage.ts'
import { tlsPolicy } from './tls-policy.ts'

export interface RestApiProps {
  stage: Stage
  settings: Settings
  endpoints: readonly Endpoint[]
  preflight: IFunction
  key: Key | undefined
  /** The only name under which it is then reached. */
  domain: CustomDomain | undefined
}

/** The gateway: a method for each route, OPTIONS for each path, and the envelope for what it answers itself. */
export function restApi(scope: Construct, props: RestApiProps): RestApi {
  const { stage, settings, endpoints, preflight, key, domain } = props
  const api = new RestApi(scope, 'Api', {
    restApiName: `commerce-${stage.name}`,
    description: 'The commerce service.',
    endpointTypes: [EndpointType.REGIONAL],
    // Bodies of these types reach functions byte for byte. In others the gateway replaces what is not valid UTF-8.
    binaryMediaTypes: bodyTypesOfAll(endpoints, settings),
    // The gateway writes its logs with a role of the account, which a new account does not have.
    cloudWatchRole: true,
    ...(domain && { disableExecuteApiEndpoint: true }),
    deployOptions: {
      stageName: stage.name,
      tracingEnabled: true,
      ...methodOptions(settings['limits.gateway']),
      methodOptions: optionsByMethod(endpoints, settings),
      accessLogDestination: new LogGroupLogDestination(serviceLog(scope, 'AccessLog', { stage, key })),
      accessLogFormat: AccessLogFormat.custom(JSON.stringify(accessLine)),
    },
  })
  // CDK's own output tells the gateway's address, which is closed where there is a domain; BaseUrl tells the right one.
  api.node.tryRemoveChild('Endpoint')
  if (stage.restApiId !== undefined) {
    const includeResourceTypes = ['AWS::ApiGateway::RestApi']
    Tags.of(api).add('ms-custom-id', stage.restApiId, { includeResourceTypes })
  }
  Object.assign(api.node.defaultChild as CfnRestApi, tlsPolicy)
  if (domain) serveUnder(scope, api, domain)
  keepExecutionLog(scope, api, { stage, key })
  addGatewayResponses(api, settings)
  addMethods(api, endpoints, preflight, settings)
  acknowledgeFindings(api, stage)
  return api
}

/** How a method is throttled; the rest is the same for all, and has to be said for each that is throttled apart. */
function methodOptions({ requestsPerSecond, burst }: Throttle): MethodDeploymentOptions {
  return {
    throttlingRateLimit: requestsPerSecond,
    throttlingBurstLimit: burst,
    metricsEnabled: true,
    loggingLevel: MethodLoggingLevel.ERROR,
    // Traces of the data would put bodies and tokens into the log.
    dataTraceEnabled: false,
  }
}

interface Throttle {
  requestsPerSecond: number
  burst: number
}

/** `{"/v1/orders/POST": …}`, of the operations for which the settings have a throttle of their own. */
function optionsByMethod(
  endpoints: readonly Endpoint[],
  settings: Settings,
): Record<string, MethodDeploymentOptions> {
  const { byOperation } = settings['limits.gateway']
  const named = endpoints.flatMap(({ route }) => {
    const own = byOperation[route.operation]
    if (!own) return []
    const path = gatewayPathOf(route, settings)
    return methodsOf(route).map((method) => [`${path}/${method}`, methodOptions(own)] as const)
  })
  return Object.fromEntries(named)
}

/** One line a request. It holds nothing of the caller: no address, no header, no path with its ids. */
const accessLine = {
  requestId: '$context.requestId',
  method: '$context.httpMethod',
  route: '$context.resourcePath',
  status: '$context.status',
  latency: '$context.responseLatency',
  integrationLatency: '$context.integrationLatency',
  gatewayError: '$context.error.responseType',
  xrayTraceId: '$context.xrayTraceId',
}

/** The gateway makes this group at its first line if it is not there, and would then keep it forever. */
function keepExecutionLog(
  scope: Construct,
  api: RestApi,
  { stage, key }: Pick<RestApiProps, 'stage' | 'key'>,
): void {
  const logGroupName = `API-Gateway-Execution-Logs_${api.restApiId}/${stage.name}`
  const log = serviceLog(scope, 'ExecutionLog', { stage, key, logGroupName })
  api.deploymentStage.node.addDependency(log)
}

function bodyTypesOfAll(endpoints: readonly Endpoint[], settings: Settings): string[] {
  const types = endpoints.flatMap(({ route }) => bodyTypesOf(route, settings))
  return [...new Set(types)]
}

function addGatewayResponses(api: RestApi, settings: Settings): void {
  for (const { type, failure } of gatewayAnswers(settings)) {
    api.addGatewayResponse(`Answer${type.responseType}`, {
      type,
      statusCode: String(failure.http),
      responseHeaders: gatewayHeaders(failure),
      templates: { 'application/json': gatewayTemplate(failure) },
    })
  }
}

function addMethods(
  api: RestApi,
  endpoints: readonly Endpoint[],
  preflight: IFunction,
  settings: Settings,
): void {
  const answersOptions = integrationOf(preflight)
  const byPath = Map.groupBy(endpoints, ({ route }) => gatewayPathOf(route, settings))
  for (const [path, atPath] of byPath) {
    const resource = api.root.resourceForPath(path)
    resource.addMethod('OPTIONS', answersOptions)
    // Routes that the gateway cannot tell apart have one function, and so one method.
    const byMethod = new Map(
      atPath.flatMap(({ route, invoked }) => methodsOf(route).map((method) => [method, invoked])),
    )
    for (const [method, invoked] of byMethod) resource.addMethod(method, integrationOf(invoked))
  }
}

/** One permission for the whole API instead of one a method: the function's only caller is this API. */
function integrationOf(handler: IFunction): LambdaIntegration {
  return new LambdaIntegration(handler, { scopePermissionToMethod: false })
}

function acknowledgeFindings(api: RestApi, stage: Stage): void {
  const bearer =
    'The functions verify the bearer token themselves, with its tenant, roles and scopes; health and preflight take no token.'
  Validations.of(api).acknowledge(
    { id: 'AwsSolutions-APIG4', reason: bearer },
    { id: 'AwsSolutions-COG4', reason: bearer },
    {
      id: 'AwsSolutions-APIG2',
      reason:
        'The functions check every request against the schemas of its route, and answer in the envelope.',
    },
    {
      id: 'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]',
      reason: 'The policy that API Gateway prescribes for the role with which it writes its logs.',
    },
  )
  if (stage.filtersRequests) return
  Validations.of(api.deploymentStage).acknowledge({
    id: 'AwsSolutions-APIG3',
    reason: 'On this stage nobody but its own machine reaches the gateway.',
  })
}
