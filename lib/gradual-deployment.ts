import { Duration, Fn, NestedStack, Stack, Validations } from 'aws-cdk-lib'
import {
  Alarm,
  ComparisonOperator,
  MathExpression,
  Metric,
  Stats,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch'
import {
  type ILambdaDeploymentConfig,
  LambdaApplication,
  LambdaDeploymentConfig,
  LambdaDeploymentGroup,
} from 'aws-cdk-lib/aws-codedeploy'
import { ManagedPolicy, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { Alias, type CfnAlias, type IFunction } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'
import { failureMetric } from '#shared/platform/base/embedded-metric.ts'
import { metricsNamespace } from './metrics-namespace.ts'
import type { Rollout, Stage } from './stage.ts'

/** A new version receives a tenth of the requests for five minutes, and all of them if nothing failed by then. */
const configs: Record<Rollout, ILambdaDeploymentConfig> = {
  canary: LambdaDeploymentConfig.CANARY_10PERCENT_5MINUTES,
  at_once: LambdaDeploymentConfig.ALL_AT_ONCE,
}

/**
 * Creates one deployment group for each alias. A failing new version is rolled back automatically, and the stack with
 * it. A group watches only its new version: an outage or a failing old version never blocks the deployment that fixes
 * it.
 *
 * Only functions behind the gateway have aliases. Failures of a new consumer or workflow step are retried, then
 * redriven from a dead-letter queue or sent again. Two concurrent versions of the user pool's trigger would give one
 * user tokens with different claims.
 */
export function gradualDeployments(main: Stack, stage: Stage, invoked: readonly IFunction[]): void {
  const { rollout } = stage
  if (!rollout) return
  const deployments = new Construct(main, 'Deployments')
  const application = new LambdaApplication(deployments, 'Application', { applicationName: main.stackName })
  const shared = { application, role: deployer(deployments), deploymentConfig: configs[rollout] }
  const groups = new NestedStack(deployments, 'Groups', {
    description: `Deployment groups of ${main.stackName}.`,
  })
  for (const alias of new Set(invoked)) {
    if (!(alias instanceof Alias)) throw new Error('there is no alias to move')
    const scope = Stack.of(alias) === main ? groups : Stack.of(alias)
    const alarms = [newVersionAlarm(scope, alias, stage)]
    const deploymentGroupName = `${idOf(alias)}Rollout`
    const group = { ...shared, deploymentGroupName, alias, alarms }
    moveBy(new LambdaDeploymentGroup(scope, deploymentGroupName, group), alias, main.stackName)
  }
}

/**
 * Lets a group move an alias, which refers to the group by name: CDK resolves no reference of an update policy to
 * another stack.
 */
function moveBy(group: LambdaDeploymentGroup, alias: Alias, applicationName: string): void {
  const { cfnOptions } = alias.node.defaultChild as CfnAlias
  const deploymentGroupName = `${idOf(alias)}Rollout`
  cfnOptions.updatePolicy = { codeDeployLambdaAliasUpdate: { applicationName, deploymentGroupName } }
  alias.node.addDependency(group)
}

/** Returns the id of the function of an alias. */
function idOf({ node }: Alias): string {
  return node.scope?.node.id ?? node.id
}

/**
 * Creates the alarm on failures of one version. Its name contains the version, so a deployment replaces the alarm: a
 * new alarm never inherits the state of the previous version.
 */
function newVersionAlarm(scope: Construct, alias: Alias, stage: Stage): Alarm {
  const { lambda, version } = alias.version
  const period = Duration.minutes(5)
  const errors = new Metric({
    namespace: 'AWS/Lambda',
    metricName: 'Errors',
    dimensionsMap: {
      FunctionName: lambda.functionName,
      Resource: `${lambda.functionName}:${alias.aliasName}`,
      ExecutedVersion: version,
    },
    statistic: Stats.SUM,
    period,
  })
  // Lambda does not count 5xx responses or reported batch failures as errors.
  const failures = new Metric({
    namespace: metricsNamespace(stage),
    metricName: failureMetric.name,
    dimensionsMap: { function_name: lambda.functionName, function_version: version },
    statistic: Stats.SUM,
    period,
  })
  return new Alarm(scope, `${idOf(alias)}NewVersion`, {
    alarmName: Fn.join('-', [`commerce-${stage.name}-deployment-${idOf(alias)}`, version]),
    alarmDescription: 'The deployed version fails. It notifies nobody: CodeDeploy goes back by it.',
    metric: new MathExpression({
      // SUM ignores a metric without data.
      expression: 'SUM([errors, failures])',
      usingMetrics: { errors, failures },
      period,
      label: 'failures of the version',
    }),
    threshold: 2,
    comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
    evaluationPeriods: 1,
    treatMissingData: TreatMissingData.NOT_BREACHING,
  })
}

/** Creates one role for all groups; by default CDK creates one for each. */
function deployer(scope: Construct) {
  const name = 'service-role/AWSCodeDeployRoleForLambdaLimited'
  const role = new Role(scope, 'Role', {
    assumedBy: new ServicePrincipal('codedeploy.amazonaws.com'),
    managedPolicies: [ManagedPolicy.fromAwsManagedPolicyName(name)],
  })
  Validations.of(role).acknowledge({
    id: `AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/${name}]`,
    reason: 'The policy that CodeDeploy prescribes for moving the aliases of functions.',
  })
  return role.withoutPolicyUpdates()
}
