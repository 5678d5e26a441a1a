import { Duration } from 'aws-cdk-lib'
import type { RestApi } from 'aws-cdk-lib/aws-apigateway'
import {
  Alarm,
  ComparisonOperator,
  type IMetric,
  MathExpression,
  Metric,
  Stats,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch'
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { Topic } from 'aws-cdk-lib/aws-sns'
import type { StateMachine } from 'aws-cdk-lib/aws-stepfunctions'
import type { Construct } from 'constructs'
import { gatewayPathOf } from '#shared/platform/http/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import type { Consumer } from './consumers.ts'
import { type Endpoint, methodsOf } from './endpoint-functions.ts'
import { preflight } from './function-entries.ts'
import { pascalCase } from './service-function.ts'
import type { Stage } from './stage.ts'
import type { WorkingStep } from './step-functions.ts'

export interface AlarmsProps {
  stage: Stage
  settings: Settings
  api: RestApi
  endpoints: readonly Endpoint[]
  preflightHandler: IFunction
  consumers: readonly Consumer[]
  steps: readonly WorkingStep[]
  /** The workflow of imports. */
  machine: StateMachine
}

const fiveMinutes = Duration.minutes(5)

/** Alarms in the words of those who lose something, on a topic to which whoever runs the stage subscribes. */
export function alarms(scope: Construct, props: AlarmsProps): void {
  const { stage, settings, api, endpoints, preflightHandler, consumers, steps, machine } = props
  const raise = alarmMaker(scope, stage)
  for (const { route, handler } of endpoints) {
    const id = pascalCase(route.operation)
    const at = { api, stage, path: gatewayPathOf(route, settings) }
    raise(`${id}Failing`, route.breaks, { metric: failures(route, handler, at), above: 2 })
    if (route.latency) {
      const { p99 } = route.latency
      const metric = gatewayMetric(at, 'Latency', route.method, Stats.percentile(99))
      const text = `${route.summary}: one request in a hundred takes longer than its budget of ${p99} ms.`
      raise(`${id}Slow`, text, { metric, above: p99, periods: 3 })
    }
  }
  const preflightErrors = preflightHandler.metricErrors({ period: fiveMinutes })
  raise(`${pascalCase(preflight.name)}Failing`, preflight.breaks, { metric: preflightErrors, above: 2 })
  for (const consumer of consumers) alarmsOfConsumer(raise, consumer)
  for (const { entry, handler } of steps) {
    const metric = handler.metricErrors({ period: fiveMinutes })
    // A step is tried again, and one failure is no loss.
    raise(`${pascalCase(entry.name)}Failing`, entry.breaks, { metric, above: 2 })
  }
  raise('ImportMachineFailing', 'An import did not come to its end by itself; it is ended within a minute.', {
    metric: endedBadly(machine),
    above: 0,
  })
}

/** Runs that ended otherwise than by their last step: that step says itself what went wrong. */
function endedBadly(machine: StateMachine): IMetric {
  const usingMetrics = {
    m0: machine.metricFailed({ period: fiveMinutes }),
    m1: machine.metricTimedOut({ period: fiveMinutes }),
    m2: machine.metricAborted({ period: fiveMinutes }),
  }
  const expression = 'FILL(m0, 0) + FILL(m1, 0) + FILL(m2, 0)'
  return new MathExpression({ expression, usingMetrics, period: fiveMinutes, label: 'runs ended badly' })
}

function alarmsOfConsumer(raise: Raise, { subscription, handler, deadLetters }: Consumer): void {
  const id = pascalCase(subscription.name)
  raise(`${id}Failing`, subscription.breaks, {
    metric: handler.metricErrors({ period: fiveMinutes }),
    above: 0,
  })
  if (!deadLetters) return
  raise(`${id}DeadLettersPresent`, `${subscription.name} gave up on something: redrive it.`, {
    metric: deadLetters.metricApproximateNumberOfMessagesVisible({ period: fiveMinutes }),
    above: 0,
  })
  const { source } = subscription
  if (typeof source === 'string' || 'queue' in source) return
  // A batch that it reports as failed is no error of the function: its changes wait, and that shows here.
  raise(`${id}Late`, `${subscription.breaks} Changes have been waiting for more than a minute.`, {
    metric: handler.metric('IteratorAge', { statistic: Stats.MAXIMUM, period: fiveMinutes }),
    above: 60_000,
  })
}

/**
 * The failures of a route: those that its function answered with 5xx, which AWS does not count as errors of the
 * function, and those in which it did not come to answer at all.
 */
function failures({ method }: Endpoint['route'], handler: IFunction, at: Place): IMetric {
  const answered = methodsOf({ method }).map((one) => gatewayMetric(at, '5XXError', one, Stats.SUM))
  const usingMetrics = Object.fromEntries(
    [handler.metricErrors({ period: fiveMinutes }), ...answered].map((metric, index) => [
      `m${index}`,
      metric,
    ]),
  )
  const gateway = answered.map((_, index) => `FILL(m${index + 1}, 0)`).join(' + ')
  const expression = `MAX([FILL(m0, 0), ${gateway}])`
  return new MathExpression({ expression, usingMetrics, period: fiveMinutes, label: 'failed requests' })
}

/** A path of the gateway. */
interface Place {
  api: RestApi
  stage: Stage
  path: string
}

function gatewayMetric(
  { api, stage, path }: Place,
  metricName: string,
  method: string,
  statistic: string,
): Metric {
  const dimensionsMap = { ApiName: api.restApiName, Stage: stage.name, Method: method, Resource: path }
  return new Metric({
    namespace: 'AWS/ApiGateway',
    metricName,
    dimensionsMap,
    statistic,
    period: fiveMinutes,
  })
}

interface Threshold {
  metric: IMetric
  /** The alarm goes off above this value. */
  above: number
  /** For how many periods of five minutes; one unless given. */
  periods?: number
}

type Raise = (id: string, description: string, threshold: Threshold) => void

function alarmMaker(scope: Construct, stage: Stage): Raise {
  const topic = new Topic(scope, 'Alarms', {
    displayName: `commerce-${stage.name} alarms`,
    enforceSSL: true,
  })
  const action = new SnsAction(topic)
  return (id, description, { metric, above, periods = 1 }) => {
    const alarm = new Alarm(scope, `${id}Alarm`, {
      alarmDescription: description,
      metric,
      threshold: above,
      comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
      evaluationPeriods: periods,
      // A function that nobody calls is not in alarm.
      treatMissingData: TreatMissingData.NOT_BREACHING,
    })
    alarm.addAlarmAction(action)
  }
}
