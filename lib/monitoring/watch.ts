import { NestedStack, Stack } from 'aws-cdk-lib'
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch'
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions'
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { Key } from 'aws-cdk-lib/aws-kms'
import { Topic } from 'aws-cdk-lib/aws-sns'
import type { Construct } from 'constructs'
import { alarmsOf } from '../data/own-key.ts'
import { hasAlarms } from '../stage.ts'
import { alarmName } from './alarm-definition.ts'
import { alarmDefinitions } from './alarm-definitions.ts'
import { dashboard } from './dashboard.ts'
import type { Watched } from './measure.ts'
import { saveQueries } from './saved-queries.ts'

interface WatchProps extends Watched {
  key: Key | undefined
}

/**
 * The saved queries, and on a stage that wakes somebody the alarms, their topic and the dashboard. They are in a nested
 * stack because CloudFormation accepts 500 resources in one stack. It refers to the gateway, functions, queues and the
 * table; no other stack refers to its alarms.
 */
export class Watch extends NestedStack {
  /** The operators of the stage subscribe to it. */
  readonly pages: Topic | undefined

  constructor(scope: Construct, props: WatchProps) {
    const { stage, settings, functions } = props
    super(scope, 'Watch', { description: `Alarms, dashboard and saved queries of commerce-${stage.name}.` })
    saveQueries(this, `commerce-${stage.name}`, functions)
    if (!hasAlarms(stage, settings)) return
    this.pages = this.#topic(props)
    addAlarms(this, this.pages, props)
    dashboard(this, props)
  }

  #topic({ stage, key }: WatchProps): Topic {
    const topic = new Topic(this, 'Pages', {
      displayName: `commerce-${stage.name} pages`,
      enforceSSL: true,
      ...(key && { masterKey: key }),
    })
    // The policy of a topic replaces the default one, which lets the account publish.
    // https://docs.aws.amazon.com/sns/latest/dg/sns-access-policy-use-cases.html
    topic.addToResourcePolicy(
      new PolicyStatement({
        sid: 'PublishAlarms',
        principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
        actions: ['sns:Publish'],
        resources: [topic.topicArn],
        conditions: alarmsOf(Stack.of(topic), stage),
      }),
    )
    return topic
  }
}

/** Creates alarms that describe the impact on users, and notifies the topic of their start and their end. */
function addAlarms(scope: Construct, pages: Topic, watched: Watched): void {
  const action = new SnsAction(pages)
  for (const { id, threshold, impact, act } of alarmDefinitions) {
    const { measure, above, below, periods: evaluationPeriods = 1 } = threshold
    const metric = measure.metric(watched)
    // A stage without backups or without a key has no alarms for them.
    if (!metric) continue
    const alarm = new cloudwatch.Alarm(scope, `${id}Alarm`, {
      alarmName: alarmName(watched.stage.name, id),
      alarmDescription: `${impact} ${act}`,
      metric,
      evaluationPeriods,
      ...(below === undefined
        ? {
            threshold: above,
            comparisonOperator: cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
            // A function without invocations is not in alarm.
            treatMissingData: cloudwatch.TreatMissingData.NOT_BREACHING,
          }
        : {
            threshold: below,
            comparisonOperator: cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD,
            treatMissingData: cloudwatch.TreatMissingData.BREACHING,
          }),
    })
    alarm.addAlarmAction(action)
    alarm.addOkAction(action)
  }
}
