import {
  Alarm,
  AlarmRule,
  AlarmState,
  ComparisonOperator,
  CompositeAlarm,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch'
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions'
import type { Key } from 'aws-cdk-lib/aws-kms'
import { Topic } from 'aws-cdk-lib/aws-sns'
import type { Construct } from 'constructs'
import { type AlarmDefinition, alarmDefinitions, type Threshold } from './alarm-definitions.ts'
import { metricOf, type Watched } from './alarm-metrics.ts'

export interface AlarmsProps extends Watched {
  key: Key | undefined
}

/** Alarms in the words of those who lose something, on a topic to which whoever runs the stage subscribes. */
export function alarms(scope: Construct, { key, ...watched }: AlarmsProps): Topic {
  const topic = new Topic(scope, 'Alarms', {
    displayName: `commerce-${watched.stage.name} alarms`,
    enforceSSL: true,
    ...(key && { masterKey: key }),
  })
  const action = new SnsAction(topic)
  for (const definition of alarmDefinitions) {
    const alarmDescription = descriptionOf(definition)
    const { id, threshold, windows } = definition
    if (threshold) {
      alarm(scope, id, alarmDescription, threshold, watched).addAlarmAction(action)
      continue
    }
    const silent = windows.map((window) => {
      const part = `A part of ${id}Alarm, which tells people.`
      return AlarmRule.fromAlarm(alarm(scope, window.id, part, window, watched), AlarmState.ALARM)
    })
    const alarmRule = AlarmRule.allOf(...silent)
    new CompositeAlarm(scope, `${id}Alarm`, { alarmDescription, alarmRule }).addAlarmAction(action)
  }
  return topic
}

/** What an alarm says: what people lose, and what to do. */
export function descriptionOf({ breaks, act }: AlarmDefinition): string {
  return `${breaks} ${act}`
}

function alarm(
  scope: Construct,
  id: string,
  alarmDescription: string,
  { measure, above, periods }: Threshold,
  watched: Watched,
): Alarm {
  return new Alarm(scope, `${id}Alarm`, {
    alarmDescription,
    metric: metricOf(measure, watched),
    threshold: above,
    comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
    evaluationPeriods: periods,
    // A function that nobody calls is not in alarm.
    treatMissingData: TreatMissingData.NOT_BREACHING,
  })
}
