import { Duration, type Stack } from 'aws-cdk-lib'
import {
  Alarm,
  AlarmRule,
  AlarmState,
  ComparisonOperator,
  CompositeAlarm,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch'
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions'
import type { Construct } from 'constructs'
import { functionOf, routes } from '#functions/routes.ts'
import { alarmDefinitions, apiFailing } from './alarm-definitions.ts'
import { isMeasured, metricOf, type Watched } from './alarm-metrics.ts'
import { type AlarmTopics, type AlarmTopicsProps, alarmTopics } from './alarm-topics.ts'
import { type AlarmDefinition, alarmName, type Severity, type Threshold, type Window } from './alarm-types.ts'
import { stackOfFunction } from './area-stacks.ts'

export type AlarmsProps = Watched & AlarmTopicsProps

/**
 * Creates alarms that describe the impact on users. Each severity has a topic for the start and the end of an alarm. A
 * page is a composite alarm that is suppressed while the whole API fails: one outage raises one page.
 */
export function alarms(watch: Stack, { key, ...watched }: AlarmsProps): AlarmTopics {
  const topics = alarmTopics(watch, { key, stage: watched.stage })
  const notify = (severity: Severity, alarm: Alarm | CompositeAlarm) => {
    const action = new SnsAction(topics[severity])
    alarm.addAlarmAction(action)
    alarm.addOkAction(action)
  }
  const metricAlarm = (window: Window, audience: Severity | 'silent', alarmDescription: string) => {
    const name = alarmName(watched.stage.name, audience, window.id)
    return alarm(
      stackOfAlarm(watch, window),
      { id: `${window.id}Alarm`, alarmName: name, alarmDescription },
      window,
      watched,
    )
  }
  const outage = metricAlarm(
    { ...apiFailing.threshold, id: apiFailing.id },
    'page',
    descriptionOf(apiFailing),
  )
  notify('page', outage)
  for (const definition of raisedOn(watched).filter(({ id }) => id !== apiFailing.id)) {
    const { id, severity, threshold, windows } = definition
    const alarmDescription = descriptionOf(definition)
    if (severity === 'ticket' && threshold) {
      notify('ticket', metricAlarm({ ...threshold, id }, 'ticket', alarmDescription))
      continue
    }
    const parts = windows ?? [{ ...threshold, id }]
    const silent = parts.map((part) => {
      const made = metricAlarm(part, 'silent', `Part of ${id}, which notifies people.`)
      return AlarmRule.fromAlarm(made, AlarmState.ALARM)
    })
    const composite = new CompositeAlarm(
      stackOfAlarm(watch, parts[0]),
      windows ? `${id}Alarm` : `${id}Page`,
      {
        compositeAlarmName: alarmName(watched.stage.name, severity, id),
        alarmDescription,
        alarmRule: AlarmRule.allOf(...silent),
        ...(severity === 'page' && {
          actionsSuppressor: outage,
          actionsSuppressorWaitPeriod: Duration.minutes(2),
          actionsSuppressorExtensionPeriod: Duration.minutes(5),
        }),
      },
    )
    notify(severity, composite)
  }
  return topics
}

/** Returns the stack of an alarm. The alarms of a route are in a nested stack if its function is in one. */
function stackOfAlarm(watch: Stack, part: Threshold | undefined): Stack {
  const measure = part?.measure
  const entry = measure && 'route' in measure && routes.find(({ route }) => route === measure.route)
  return entry ? stackOfFunction(watch, functionOf(entry).name) : watch
}

/** Returns the description of an alarm: the impact on users and the action. */
export function descriptionOf({ breaks, act }: AlarmDefinition): string {
  return `${breaks} ${act}`
}

/** Returns the alarms of a stage. A stage without backups or without a key has no alarms for them. */
function raisedOn(watched: Watched): AlarmDefinition[] {
  return alarmDefinitions.filter(({ threshold }) => !threshold || isMeasured(threshold.measure, watched))
}

interface NamedAlarm {
  id: string
  alarmName: string
  alarmDescription: string
}

function alarm(
  scope: Construct,
  { id, ...named }: NamedAlarm,
  { measure, above, below, periods }: Threshold,
  watched: Watched,
): Alarm {
  return new Alarm(scope, id, {
    ...named,
    metric: metricOf(measure, watched),
    evaluationPeriods: periods,
    ...(below === undefined
      ? {
          threshold: above,
          comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
          // A function without invocations is not in alarm.
          treatMissingData: TreatMissingData.NOT_BREACHING,
        }
      : {
          threshold: below,
          comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
          treatMissingData: TreatMissingData.BREACHING,
        }),
  })
}
