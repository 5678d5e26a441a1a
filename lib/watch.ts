import { NestedStack } from 'aws-cdk-lib'
import type { Construct } from 'constructs'
import type { AlarmTopics } from './alarm-topics.ts'
import { type AlarmsProps, alarms } from './alarms.ts'
import { dashboard } from './dashboard.ts'

/**
 * The alarms, their topics and the dashboard, in a nested stack because CloudFormation accepts 500 resources in one
 * stack. It refers to the gateway, functions, queues and the table; no other stack refers to its alarms.
 */
export class Watch extends NestedStack {
  readonly topics: AlarmTopics

  constructor(scope: Construct, props: AlarmsProps) {
    super(scope, 'Watch', { description: `Alarms and dashboard of commerce-${props.stage.name}.` })
    this.topics = alarms(this, props)
    dashboard(this, props)
  }
}
