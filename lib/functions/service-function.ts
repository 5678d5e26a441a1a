import { AssetHashType, type Duration, RemovalPolicy, Validations } from 'aws-cdk-lib'
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import {
  Architecture,
  Code,
  Function as LambdaFunction,
  type RecursiveLoop,
  Runtime,
  Tracing,
} from 'aws-cdk-lib/aws-lambda'
import type { Construct } from 'constructs'
import { deploymentVariable } from '#shared/refunds/refund.ts'
import type { Settings } from '#shared/settings/register.ts'
import { grantUses, resourceVariables, type Uses } from '../access/grants.ts'
import type { Resources } from '../access/rights.ts'
import { deploymentName, hasAlarms, metricsNamespace, reservedConcurrency, type Stage } from '../stage.ts'
import { type Freeze, stoppedFunctions } from './freeze.ts'
import { type FunctionCodes, pascalCase, releaseVariable, shardsVariable } from './function-names.ts'
import { serviceLog } from './service-log.ts'

/** What all functions of one deployment have in common. */
export interface Deployment {
  stage: Stage
  settings: Settings
  codes: FunctionCodes
  /** The id of this deployment, if functions have versions. */
  release: string | undefined
  resources: Resources
  /** A freeze that the deployment keeps (`npx commerce freeze`). */
  freeze?: Freeze | undefined
}

interface ServiceFunctionProps extends Uses {
  /** `<area>.<verb>`; the id of the construct is derived from it. */
  name: string
  description: string
  timeout: Duration
  environment?: Record<string, string>
  /** Why the function needs no dead-letter queue. */
  onFailure: string
  recursiveLoop?: RecursiveLoop | undefined
}

/**
 * Creates a function with the common settings. Its role may write to its own log and use what it declares, and nothing
 * else.
 */
export function serviceFunction(
  scope: Construct,
  { stage, settings, codes, release, resources, freeze }: Deployment,
  { name, description, uses, table, timeout, environment, onFailure, recursiveLoop }: ServiceFunctionProps,
): LambdaFunction {
  const id = pascalCase(name)
  const code = codes[name]
  if (!code) throw new Error(`the function ${name} was not bundled`)
  const isStopped = freeze !== undefined && stoppedFunctions(freeze).has(name)
  const concurrency = isStopped ? 0 : reservedConcurrency(stage, settings)?.[name]
  const logGroup = serviceLog(scope, `${id}Log`, { stage, key: resources.key })
  const role = new Role(scope, `${id}Role`, { assumedBy: new ServicePrincipal('lambda.amazonaws.com') })
  logGroup.grantWrite(role)
  const created = new LambdaFunction(scope, id, {
    description,
    runtime: Runtime.NODEJS_24_X,
    architecture: Architecture.ARM_64,
    // CPU power grows with memory, and most of the cost of a request is checking a signature.
    memorySize: 1024,
    timeout,
    ...(recursiveLoop && { recursiveLoop }),
    handler: 'index.handler',
    code: Code.fromAsset(code.directory, { assetHash: code.codeSha, assetHashType: AssetHashType.CUSTOM }),
    environment: {
      [deploymentVariable]: deploymentName(stage),
      ...(hasAlarms(stage, settings) && { METRICS_NAMESPACE: metricsNamespace(stage) }),
      ...(release !== undefined && {
        [releaseVariable]: release,
        [shardsVariable]: JSON.stringify(settings['storage.shards']),
      }),
      ...resourceVariables({ uses, table }, resources),
      ...environment,
    },
    // It is traced if what invokes it is. Lambda itself would trace each run of a schedule.
    tracing: Tracing.PASS_THROUGH,
    ...(concurrency !== undefined && { reservedConcurrentExecutions: concurrency }),
    role,
    logGroup,
    // Versions outlive the deployment that replaces them, because npx commerce rollback moves aliases back to them.
    currentVersionOptions: { removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE },
  })
  grantUses(created, { uses, table }, resources)
  Validations.of(role).acknowledge({
    id: 'AwsSolutions-IAM5[Resource::*]',
    reason: 'X-Ray accepts no resource; nothing else is granted on *.',
  })
  Validations.of(created).acknowledge(
    { id: 'Serverless-LambdaDLQ', reason: onFailure },
    { id: 'Serverless-LambdaTracing', reason: 'The gateway decides which requests are traced (traces.ts).' },
  )
  return created
}
