import { Duration, Fn, Stack, Validations } from 'aws-cdk-lib'
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch'
import * as codedeploy from 'aws-cdk-lib/aws-codedeploy'
import { ManagedPolicy, Role } from 'aws-cdk-lib/aws-iam'
import * as lambda from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'
import { failureMetric } from '#shared/platform/base/metrics.ts'
import { serviceOfAccount } from '../access/grants.ts'
import { metricsNamespace, type Stage } from '../stage.ts'

/**
 * Creates one deployment group for each alias. A failing new version is rolled back automatically, and the stack with
 * it. A group watches only its new version: an outage or a failing old version never blocks the deployment that fixes
 * it.
 *
 * Only functions behind the gateway are deployed gradually. CloudFormation moves the aliases of all others at once:
 * failures of a new consumer or workflow step are retried, then redriven from a dead-letter queue or sent again, and two
 * concurrent versions of the user pool's trigger would give one user tokens with different claims. On a stage without alarms
 * CloudFormation moves all aliases at once.
 */
export function gradualDeployments(main: Stack, stage: Stage, invoked: readonly lambda.IFunction[]): void {
  if (stage.rollout !== 'canary') return
  const { stackName: applicationName } = main
  const deployments = new Construct(main, 'Deployments')
  const application = new codedeploy.LambdaApplication(deployments, 'Application', { applicationName })
  // A new version receives a tenth of the requests for five minutes, and then all of them if nothing failed.
  const deploymentConfig = codedeploy.LambdaDeploymentConfig.CANARY_10PERCENT_5MINUTES
  const shared = { application, role: deployer(deployments), deploymentConfig }
  for (const alias of new Set(invoked)) {
    if (!(alias instanceof lambda.Alias)) throw new Error('there is no alias to move')
    const scope = Stack.of(alias)
    const alarms = [newVersionAlarm(scope, alias, stage)]
    const deploymentGroupName = `${idOf(alias)}Rollout`
    const props = { ...shared, deploymentGroupName, alias, alarms }
    const group = new codedeploy.LambdaDeploymentGroup(scope, deploymentGroupName, props)
    // The alias refers to its group by name: CDK resolves no reference of an update policy to another stack.
    const { cfnOptions } = alias.node.defaultChild as lambda.CfnAlias
    cfnOptions.updatePolicy = { codeDeployLambdaAliasUpdate: { applicationName, deploymentGroupName } }
    alias.node.addDependency(group)
  }
}

/** Returns the id of the function of an alias. */
function idOf({ node }: lambda.Alias): string {
  return node.scope?.node.id ?? node.id
}

/**
 * Creates the alarm on failures of one version. Its name contains the version, so a deployment replaces the alarm: a
 * new alarm never inherits the state of the previous version.
 */
function newVersionAlarm(scope: Construct, alias: lambda.Alias, stage: Stage): cloudwatch.Alarm {
  const { lambda, version } = alias.version
  const { functionName } = lambda
  const sum = { statistic: cloudwatch.Stats.SUM, period: Duration.minutes(5) }
  const Resource = `${functionName}:${alias.aliasName}`
  const errors = new cloudwatch.Metric({
    namespace: 'AWS/Lambda',
    metricName: 'Errors',
    dimensionsMap: { FunctionName: functionName, Resource, ExecutedVersion: version },
    ...sum,
  })
  // Lambda does not count 5xx responses or reported batch failures as errors.
  const failures = new cloudwatch.Metric({
    namespace: metricsNamespace(stage),
    metricName: failureMetric.name,
    dimensionsMap: { function_name: functionName, function_version: version },
    ...sum,
  })
  return new cloudwatch.Alarm(scope, `${idOf(alias)}NewVersion`, {
    alarmName: Fn.join('-', [`commerce-${stage.name}-deployment-${idOf(alias)}`, version]),
    alarmDescription: 'The new version fails. CodeDeploy rolls back on this alarm, which notifies nobody.',
    metric: new cloudwatch.MathExpression({
      // SUM ignores a metric without data.
      expression: 'SUM([errors, failures])',
      usingMetrics: { errors, failures },
      period: sum.period,
      label: 'failures of the version',
    }),
    threshold: 2,
    comparisonOperator: cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
    evaluationPeriods: 1,
    treatMissingData: cloudwatch.TreatMissingData.NOT_BREACHING,
  })
}

/** Creates one role for all groups; by default CDK creates one for each. */
function deployer(scope: Construct) {
  const name = 'service-role/AWSCodeDeployRoleForLambdaLimited'
  const role = new Role(scope, 'Role', {
    assumedBy: serviceOfAccount(scope, 'codedeploy.amazonaws.com'),
    managedPolicies: [ManagedPolicy.fromAwsManagedPolicyName(name)],
  })
  Validations.of(role).acknowledge({
    id: `AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/${name}]`,
    reason: 'The policy that CodeDeploy prescribes for moving the aliases of functions.',
  })
  return role.withoutPolicyUpdates()
}

/** Lets CloudFormation move an alias itself, at once. No alarm, canary or drift of the alias delays the deployment. */
export function bypassRollout(invoked: lambda.IFunction): void {
  if (invoked instanceof lambda.Alias)
    delete (invoked.node.defaultChild as lambda.CfnAlias).cfnOptions.updatePolicy
}
