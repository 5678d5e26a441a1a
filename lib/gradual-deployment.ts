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
import { failureMetric } from '#shared/platform/logging/embedded-metric.ts'
import { metricsNamespace } from './metrics-namespace.ts'
import type { Rollout, Stage } from './stage.ts'

/** A new version takes a tenth of the requests for five minutes, and the rest if nothing failed meanwhile. */
const configs: Record<Rollout, ILambdaDeploymentConfig> = {
  canary: LambdaDeploymentConfig.CANARY_10PERCENT_5MINUTES,
  at_once: LambdaDeploymentConfig.ALL_AT_ONCE,
}

/**
 * One deployment group for each alias. A new version that fails goes back by itself, and the stack with it. A group
 * watches its new version alone: an outage or a failing old version never blocks the deployment that fixes it.
 *
 * Only functions behind the gateway have aliases. What a new version of a consumer or a step of the workflow fails with is
 * tried again, and redriven from a dead-letter queue or sent again. Two versions of the user pool's trigger at once would
 * give one user tokens with different claims.
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

/** Lets a group move an alias, which knows it by name: CDK resolves no reference of an update policy to another stack. */
function moveBy(group: LambdaDeploymentGroup, alias: Alias, applicationName: string): void {
  const { cfnOptions } = alias.node.defaultChild as CfnAlias
  const deploymentGroupName = `${idOf(alias)}Rollout`
  cfnOptions.updatePolicy = { codeDeployLambdaAliasUpdate: { applicationName, deploymentGroupName } }
  alias.node.addDependency(group)
}

/** Returns the id of the function whose alias it is. */
function idOf({ node }: Alias): string {
  return node.scope?.node.id ?? node.id
}

/**
 * Failures of one version. The alarm's name contains the version, so a deployment replaces the alarm: a new one is not
 * in alarm, whatever the version before did.
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
  // What it answers with 5xx, or reports of a batch, is no error to Lambda.
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
      // SUM leaves out a metric without data.
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

/** One role for all groups, which each of them would make for itself otherwise. */
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
