import { Validations } from 'aws-cdk-lib'
import type { Alarm } from 'aws-cdk-lib/aws-cloudwatch'
import {
  type ILambdaDeploymentConfig,
  LambdaApplication,
  LambdaDeploymentConfig,
  LambdaDeploymentGroup,
} from 'aws-cdk-lib/aws-codedeploy'
import { ManagedPolicy, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import { Alias, type IFunction } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'
import type { Endpoint } from './endpoint-functions.ts'
import { preflight } from './function-entries.ts'
import { pascalCase } from './service-function.ts'
import type { Rollout, Stage } from './stage.ts'

/** A new version takes a tenth of the requests for five minutes, and the rest if nothing failed meanwhile. */
const configs: Record<Rollout, ILambdaDeploymentConfig> = {
  canary: LambdaDeploymentConfig.CANARY_10PERCENT_5MINUTES,
  at_once: LambdaDeploymentConfig.ALL_AT_ONCE,
}

export interface GradualDeploymentsProps {
  stage: Stage
  endpoints: readonly Endpoint[]
  preflightHandler: IFunction
  /** Where the alarms are. */
  watch: Construct | undefined
}

/**
 * One deployment group for each function behind the gateway: its new version goes back by itself, and the stack with
 * it, when one of its routes is failing. Comes after the alarms, as it goes by them.
 */
export function gradualDeployments(scope: Construct, props: GradualDeploymentsProps): void {
  const { stage, endpoints, preflightHandler, watch } = props
  const { rollout } = stage
  if (!rollout) return
  if (!watch) throw new Error('a new version cannot go back without alarms')
  const place = new Construct(scope, 'Deployments')
  const shared = {
    application: new LambdaApplication(place, 'Application'),
    role: deployer(place),
    deploymentConfig: configs[rollout],
  }
  const byFunction = Map.groupBy(
    [
      ...endpoints.map(({ route, invoked }) => ({ name: route.operation, invoked })),
      { name: preflight.name, invoked: preflightHandler },
    ],
    ({ invoked }) => invoked,
  )
  for (const [invoked, named] of byFunction) {
    if (!(invoked instanceof Alias)) throw new Error('there is no alias to move')
    const alarms = named.map(({ name }) => watch.node.findChild(`${pascalCase(name)}FailingAlarm`) as Alarm)
    new LambdaDeploymentGroup(place, idOf(invoked), { ...shared, alias: invoked, alarms })
  }
}

/** A group is called as the function whose alias it moves. */
function idOf({ node }: Alias): string {
  return node.scope?.node.id ?? node.id
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
