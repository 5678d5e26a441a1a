import { CfnOutput, Names, NestedStack, RemovalPolicy, Stack, Tags, Validations } from 'aws-cdk-lib'
import * as apigateway from 'aws-cdk-lib/aws-apigateway'
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager'
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { Key } from 'aws-cdk-lib/aws-kms'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { DataIdentifier, DataProtectionPolicy } from 'aws-cdk-lib/aws-logs'
import type { Construct } from 'constructs'
import { bodyTypesOf, gatewayPathOf, methodsOf } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import type { EndpointFunction } from '../functions/endpoint-functions.ts'
import { serviceLog } from '../functions/service-log.ts'
import { hasWebAcl, type Stage, StageError } from '../stage.ts'
import { addGatewayResponses } from './gateway-responses.ts'
import { stageOptions } from './stage-options.ts'

interface RestApiProps {
  stage: Stage
  settings: Settings
  endpoints: readonly EndpointFunction[]
  preflight: IFunction
  unknownRoute: IFunction
  key: Key | undefined
}

/**
 * Creates the gateway: a method for each route, OPTIONS for each path, a greedy path for all other requests, and the
 * error envelope for its own responses.
 */
export function restApi(scope: Construct, props: RestApiProps): apigateway.RestApi {
  const { stage, settings, endpoints, preflight, unknownRoute, key } = props
  const domain = settings['api.domain']
  const accessLog = serviceLog(scope, 'AccessLog', {
    ...{ stage, key },
    ...(stage.onAws && {
      dataProtectionPolicy: new DataProtectionPolicy({ identifiers: [DataIdentifier.IPADDRESS] }),
    }),
  })
  const api = new apigateway.RestApi(scope, 'Api', {
    restApiName: `commerce-${stage.name}`,
    description: 'The commerce service.',
    endpointTypes: [apigateway.EndpointType.REGIONAL],
    // The gateway passes bodies of these types to functions unchanged. In others it replaces invalid UTF-8.
    binaryMediaTypes: [...new Set(endpoints.flatMap(({ route }) => bodyTypesOf(route, settings)))],
    // The gateway writes its logs with a role of the account. A new account does not have one.
    cloudWatchRole: true,
    cloudWatchRoleRemovalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    ...(settings['api.gatewayAddress'] === 'closed' && { disableExecuteApiEndpoint: true }),
    deployOptions: stageOptions({ stage, settings, endpoints, accessLog }),
  })
  // CDK adds an output with the gateway's address, which may be closed. BaseUrl is the address to use.
  api.node.tryRemoveChild('Endpoint')
  if (stage.restApiId !== undefined) {
    const includeResourceTypes = ['AWS::ApiGateway::RestApi']
    Tags.of(api).add('ms-custom-id', stage.restApiId, { includeResourceTypes })
  }
  Object.assign(api.node.defaultChild as apigateway.CfnRestApi, tlsPolicy)
  if (domain) serveUnder(scope, api, domain, stage)
  // If the execution log is missing, the gateway creates it with the first line and keeps it forever.
  const logGroupName = `API-Gateway-Execution-Logs_${api.restApiId}/${stage.name}`
  api.deploymentStage.node.addDependency(serviceLog(scope, 'ExecutionLog', { stage, key, logGroupName }))
  addGatewayResponses(api, settings)
  addMethods(api, endpoints, preflight, settings)
  // A request falls through to the greedy path if its own path lacks the method.
  for (const resource of [api.root, api.root.addResource('{proxy+}')]) {
    resource.addMethod('ANY', integrationOf(unknownRoute))
  }
  allowInvocations(scope, api, [...endpoints.map(({ invoked }) => invoked), preflight, unknownRoute])
  acknowledgeFindings(api, hasWebAcl(stage, settings))
  return api
}

/**
 * The TLS policy of the API and its custom domain. Without one, API Gateway accepts TLS 1.0 at the address of a
 * regional API. This policy accepts only TLS 1.2 and 1.3 with forward secrecy and post-quantum key exchange. In strict
 * mode the host name of the TLS handshake must match that of the request.
 */
const tlsPolicy = {
  securityPolicy: apigateway.SecurityPolicy.TLS13_1_2_PFS_PQ_2025_09,
  endpointAccessMode: apigateway.EndpointAccessMode.STRICT,
}

/**
 * Serves the API under a host name of the operator.
 * @throws StageError on a stage that has a fixed address
 */
function serveUnder(
  scope: Construct,
  api: apigateway.RestApi,
  { host, certificateArn }: NonNullable<Settings['api.domain']>,
  stage: Stage,
): void {
  if (stage.basePath !== undefined) {
    throw new StageError(`stage ${stage.name} has a fixed address: set api.domain to null`)
  }
  const domain = new apigateway.DomainName(scope, 'Domain', {
    domainName: host,
    certificate: Certificate.fromCertificateArn(scope, 'Certificate', certificateArn),
    endpointType: apigateway.EndpointType.REGIONAL,
    ...tlsPolicy,
    mapping: api as apigateway.IRestApi,
  })
  new CfnOutput(scope, 'DomainTarget', { value: domain.domainNameAliasDomainName })
  new CfnOutput(scope, 'DomainHostedZoneId', { value: domain.domainNameAliasHostedZoneId })
}

function addMethods(
  api: apigateway.RestApi,
  endpoints: readonly EndpointFunction[],
  preflight: IFunction,
  settings: Settings,
): void {
  const byPath = Map.groupBy(endpoints, ({ route }) => gatewayPathOf(route, settings))
  for (const [path, atPath] of byPath) {
    const resource = api.root.resourceForPath(path)
    resource.addMethod('OPTIONS', integrationOf(preflight))
    // Routes that the gateway cannot tell apart share one function, so they share one method.
    const byMethod = new Map(
      atPath.flatMap(({ route, invoked }) => methodsOf(route).map((method) => [method, invoked])),
    )
    for (const [httpMethod, invoked] of byMethod) {
      // In the nested stack of the function.
      const method = new apigateway.Method(Stack.of(invoked), `${httpMethod}${path}`, {
        resource,
        httpMethod,
        integration: integrationOf(invoked),
      })
      Validations.of(method).acknowledge(...ownAuthorization)
    }
  }
}

function integrationOf({ functionArn }: IFunction): apigateway.AwsIntegration {
  const path = `2015-03-31/functions/${functionArn}/invocations`
  return new apigateway.AwsIntegration({ proxy: true, service: 'lambda', path })
}

/**
 * Creates one permission for the whole API instead of one for each method: this API is the only caller of a function.
 * Permissions are in a nested stack because they can move between stacks: the new one exists before the old one is
 * deleted.
 */
function allowInvocations(scope: Construct, api: apigateway.RestApi, invoked: readonly IFunction[]): void {
  const description = `Permissions of ${api.restApiName} to invoke functions.`
  const permissions = new NestedStack(scope, 'Invocations', { description })
  for (const handler of new Set(invoked)) {
    handler.addPermission(Names.uniqueId(handler), {
      principal: new ServicePrincipal('apigateway.amazonaws.com'),
      sourceArn: api.arnForExecuteApi(),
      scope: permissions,
    })
  }
  api.latestDeployment?.node.addDependency(permissions)
}

const ownAuthorization = ['AwsSolutions-APIG4', 'AwsSolutions-COG4'].map((id) => ({
  id,
  reason:
    'The functions verify the bearer token themselves, with its tenant, role and scopes; health and preflight need no token.',
}))

function acknowledgeFindings(api: apigateway.RestApi, isProtected: boolean): void {
  Validations.of(api).acknowledge(
    ...ownAuthorization,
    {
      id: 'AwsSolutions-APIG2',
      reason:
        'The functions validate every request against the schemas of its route, and respond with the error envelope.',
    },
    {
      id: 'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]',
      reason: 'The policy that API Gateway prescribes for the role with which it writes its logs.',
    },
  )
  if (isProtected) return
  Validations.of(api.deploymentStage).acknowledge({
    id: 'AwsSolutions-APIG3',
    reason:
      'The local stage is reachable only on its own machine. Stage dev has no data of customers, and a web ACL if its profile asks.',
  })
}
