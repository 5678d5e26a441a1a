import { AssetHashType, type Duration, RemovalPolicy, Validations } from 'aws-cdk-lib'
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { Key } from 'aws-cdk-lib/aws-kms'
import { Architecture, Code, Function as LambdaFunction, Runtime, Tracing } from 'aws-cdk-lib/aws-lambda'
import type { Construct } from 'constructs'
import type { FunctionCode } from './function-entries.ts'
import { metricsNamespace } from './metrics-namespace.ts'
import { serviceLog } from './service-log.ts'
import type { Stage } from './stage.ts'

export interface ServiceFunctionProps {
  stage: Stage
  key?: Key | undefined
  /** `<area>.<verb>`; the id of the construct is derived from it. */
  name: string
  description: string
  code: FunctionCode
  timeout: Duration
  environment: Record<string, string>
  /** Reserved concurrency of the function, which is also its maximum. */
  concurrency?: number | undefined
}

/** Creates a function with the common settings: its own role, which may write to its own log and nothing else. */
export function serviceFunction(scope: Construct, props: ServiceFunctionProps): LambdaFunction {
  const { stage, key, name, description, code, timeout, environment, concurrency } = props
  const id = pascalCase(name)
  const logGroup = serviceLog(scope, `${id}Log`, { stage, key })
  const role = new Role(scope, `${id}Role`, { assumedBy: new ServicePrincipal('lambda.amazonaws.com') })
  logGroup.grantWrite(role)
  const built = new LambdaFunction(scope, id, {
    description,
    runtime: Runtime.NODEJS_24_X,
    architecture: Architecture.ARM_64,
    // CPU power grows with memory, and most of the cost of a request is checking a signature.
    memorySize: 1024,
    timeout,
    handler: 'index.handler',
    code: Code.fromAsset(code.directory, { assetHash: code.codeSha, assetHashType: AssetHashType.CUSTOM }),
    environment: {
      POWERTOOLS_LOG_LEVEL: 'INFO',
      METRICS_NAMESPACE: metricsNamespace(stage),
      ...environment,
    },
    tracing: Tracing.ACTIVE,
    ...(concurrency !== undefined && { reservedConcurrentExecutions: concurrency }),
    role,
    logGroup,
    // Versions outlive the deployment that replaces them, because npm run rollback moves the alias back.
    currentVersionOptions: { removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE },
  })
  Validations.of(role).acknowledge({
    id: 'AwsSolutions-IAM5[Resource::*]',
    reason: 'X-Ray takes trace segments without naming a resource; nothing else is granted on *.',
  })
  return built
}

/** Returns `orders.list-all` as `OrdersListAll`. */
export function pascalCase(name: string): string {
  return name.replace(/(?:^|[._-])([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
