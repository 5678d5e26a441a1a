import { Duration, NestedStack, Stack } from 'aws-cdk-lib'
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch'
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions'
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { Key } from 'aws-cdk-lib/aws-kms'
import { Topic } from 'aws-cdk-lib/aws-sns'
import type { Construct } from 'constructs'
import { stackOfArea } from '../endpoint-functions.ts'
import { alarmsOf } from '../own-key.ts'
import { alarmName, type Severity, type Threshold } from './alarm-definition.ts'
import { alarmDefinitions, apiFailing } from './alarm-definitions.ts'
import { dashboard } from './dashboard.ts'
import type { AnyMetric, Watched } from './measure.ts'

interface WatchProps extends Watched {
  key: Key | undefined
}

/**
 * The alarms, their topics and the dashboard, in a nested stack because CloudFormation accepts 500 resources in one
 * stack. It refers to the gateway, functions, queues and the table; no other stack refers to its alarms.
 */
export class Watch extends NestedStack {
  /** One topic for each severity, to which the operators of the stage subscribe. */
  readonly topics: Readonly<Record<Severity, Topic>>

  constructor(scope: Construct, props: WatchProps) {
    super(scope, 'Watch', { description: `Alarms and dashboard of commerce-${props.stage.name}.` })
    this.topics = { page: this.#topic('Pages', props), ticket: this.#topic('Tickets', props) }
    this.#addAlarms(props)
    dashboard(this, props)
  }

  #topic(id: string, { stage, key }: WatchProps): Topic {
    const topic = new Topic(this, id, {
      displayName: `commerce-${stage.name} ${id.toLowerCase()}`,
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

  /**
   * Creates alarms that describe the impact on users. Each severity has a topic for the start and the end of an alarm.
   * A page is a composite alarm that is suppressed while the whole API fails: one outage raises one page.
   */
  #addAlarms(watched: WatchProps): void {
    const { name: stage } = watched.stage
    let outage: cloudwatch.Alarm | undefined
    for (const definition of alarmDefinitions) {
      const { id, severity, thresholds, impact, act } = definition
      const parts = thresholds.flatMap((threshold) => {
        const metric = threshold.measure.metric(watched)
        return metric ? [{ threshold, metric, id: id + (threshold.window ?? '') }] : []
      })
      // A stage without backups or without a key has no alarms for them.
      const [first] = parts
      if (!first) continue
      const alarmDescription = `${impact} ${act}`
      const scope = this.#stackOf(first.threshold, watched)
      if (thresholds.length === 1 && (severity === 'ticket' || definition === apiFailing)) {
        const name = { alarmName: alarmName(stage, severity, id), alarmDescription }
        const alarm = metricAlarm(scope, first, name)
        if (definition === apiFailing) outage = alarm
        this.#notify(severity, alarm)
        continue
      }
      const silent = parts.map((part) => {
        const alarm = metricAlarm(scope, part, {
          alarmName: alarmName(stage, 'silent', part.id),
          alarmDescription: `Part of ${id}, which notifies people.`,
        })
        return cloudwatch.AlarmRule.fromAlarm(alarm, cloudwatch.AlarmState.ALARM)
      })
      const alarmRule = cloudwatch.AlarmRule.allOf(...silent)
      const scopeId = thresholds.length > 1 ? `${id}Alarm` : `${id}Page`
      const composite = new cloudwatch.CompositeAlarm(scope, scopeId, {
        compositeAlarmName: alarmName(stage, severity, id),
        alarmDescription,
        alarmRule,
        ...(severity === 'page' && outage && suppressedBy(outage)),
      })
      this.#notify(severity, composite)
    }
  }

  #notify(severity: Severity, alarm: cloudwatch.Alarm | cloudwatch.CompositeAlarm): void {
    const action = new SnsAction(this.topics[severity])
    alarm.addAlarmAction(action)
    alarm.addOkAction(action)
  }

  /** Returns the stack of an alarm: for one of a route, the nested stack of its area. */
  #stackOf({ measure }: Threshold, { stage }: WatchProps): Stack {
    if (!measure.route) return this
    return stackOfArea(this, measure.route.operation, `Alarms of commerce-${stage.name}`)
  }
}

/** Suppresses an alarm while another one is in alarm, and until all have had time to end. */
function suppressedBy(outage: cloudwatch.Alarm) {
  return {
    actionsSuppressor: outage,
    actionsSuppressorWaitPeriod: Duration.minutes(2),
    actionsSuppressorExtensionPeriod: Duration.minutes(5),
  }
}

function metricAlarm(
  scope: Construct,
  { id, threshold, metric }: { id: string; threshold: Threshold; metric: AnyMetric },
  named: { alarmName: string; alarmDescription: string },
): cloudwatch.Alarm {
  const { above, below, periods: evaluationPeriods = 1 } = threshold
  return new cloudwatch.Alarm(scope, `${id}Alarm`, {
    ...named,
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
}
