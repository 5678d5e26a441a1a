import { NestedStack } from 'aws-cdk-lib'
import type { Topic } from 'aws-cdk-lib/aws-sns'
import type { Construct } from 'constructs'
import { type AlarmsProps, alarms } from './alarms.ts'
import { type DashboardProps, dashboard } from './dashboard.ts'

export type WatchProps = AlarmsProps & DashboardProps

/**
 * The alarms, their topic and the dashboard, in a stack within the stack: CloudFormation takes 500 resources in one. It
 * knows the gateway, functions, queues and the table; aliases and deployment groups know its alarms, and never the
 * other way round.
 */
export class Watch extends NestedStack {
  /** Where alarms go. */
  readonly topic: Topic

  constructor(scope: Construct, props: WatchProps) {
    super(scope, 'Watch', { description: `Alarms and dashboard of commerce-${props.stage.name}.` })
    this.topic = alarms(this, props)
    dashboard(this, props)
  }
}
