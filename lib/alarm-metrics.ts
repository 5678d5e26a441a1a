import { Duration } from 'aws-cdk-lib'
import type { RestApi } from 'aws-cdk-lib/aws-apigateway'
import { type IMetric, MathExpression, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import type { Queue } from 'aws-cdk-lib/aws-sqs'
import type { StateMachine } from 'aws-cdk-lib/aws-stepfunctions'
import { gatewayPathOf, type Route } from '#shared/platform/http/route.ts'
import { ageMetric, type Work } from '#shared/platform/logging/embedded-metric.ts'
import type { Settings } from '#shared/settings/register.ts'
import type { Measure } from './alarm-definitions.ts'
import { methodsOf } from './endpoint-functions.ts'
import { metricsNamespace } from './metrics-namespace.ts'
import { pascalCase } from './service-function.ts'
import type { Stage } from './stage.ts'

/** What is watched: the gateway, and the functions and queues by the operation, subscription or step they serve. */
export interface Watched {
  stage: Stage
  settings: Settings
  api: RestApi
  functions: ReadonlyMap<string, IFunction>
  deadLetters: ReadonlyMap<string, Queue>
  /** The workflow of imports. */
  machine: StateMachine
}

const period = Duration.minutes(5)

/** @throws Error for a function or a queue that the stack does not have */
export function metricOf(measure: Measure, watched: Watched): IMetric {
  switch (measure.of) {
    case 'failed requests':
      return failedRequests(measure.route, watched)
    case 'latency':
      return latency(measure.route, measure.percentile, watched)
    case 'failures in a hundred requests':
      return failureShare(measure, watched)
    case 'errors of the function':
      return named(watched.functions, measure.name).metricErrors({ period })
    case 'messages in the dead-letter queue':
      return named(watched.deadLetters, measure.name).metricApproximateNumberOfMessagesVisible({ period })
    case 'age of the oldest change':
      return named(watched.functions, measure.name).metric('IteratorAge', {
        statistic: Stats.MAXIMUM,
        period,
      })
    case 'runs that ended badly':
      return endedBadly(watched.machine)
    case 'age of the oldest unfinished':
      return unfinishedAge(measure.work, watched.stage)
  }
}

function named<T>(all: ReadonlyMap<string, T>, name: string): T {
  const found = all.get(name)
  if (found === undefined) throw new Error(`nothing is called ${name}`)
  return found
}

/** How long a route takes at the gateway, for one of its methods: HEAD is rare, and as fast as GET. */
export function latency(route: Route, percentile: number, watched: Watched): Metric {
  return gatewayMetric(watched, route, 'Latency', route.method, Stats.percentile(percentile))
}

/** Answers with 5xx, over all methods of the route. */
export function serverErrors(route: Route, watched: Watched): IMetric {
  const sums = methodsOf(route).map((method) => gatewayMetric(watched, route, '5XXError', method, Stats.SUM))
  const prefix = `${metricIdOf(route)}Answer`
  const usingMetrics = Object.fromEntries(sums.map((metric, index) => [`${prefix}${index}`, metric]))
  return new MathExpression({ expression: sumOf(prefix, sums.length), usingMetrics, period, label: '5XX' })
}

/** What the ids of its metrics begin with: those of one graph are all different, and begin with a small letter. */
function metricIdOf({ operation }: Route): string {
  const name = pascalCase(operation)
  return name.charAt(0).toLowerCase() + name.slice(1)
}

/**
 * Those that its function answered with 5xx, which AWS does not count as errors of the function, and those in which it
 * did not come to answer at all.
 */
function failedRequests(route: Route, watched: Watched): IMetric {
  const [unanswered, answered] = [`${metricIdOf(route)}Unanswered`, `${metricIdOf(route)}Answered`]
  const usingMetrics = {
    [unanswered]: named(watched.functions, route.operation).metricErrors({ period }),
    [answered]: serverErrors(route, watched),
  }
  const expression = `MAX([FILL(${unanswered}, 0), ${answered}])`
  return new MathExpression({ expression, usingMetrics, period, label: 'failed requests' })
}

function failureShare(
  { route, minutes, fewest }: Measure & { of: 'failures in a hundred requests' },
  watched: Watched,
): IMetric {
  const methods = methodsOf(route)
  const usingMetrics = Object.fromEntries(
    methods.flatMap((method, index) => [
      [`e${index}`, gatewayMetric(watched, route, '5XXError', method, Stats.SUM)],
      [`r${index}`, gatewayMetric(watched, route, 'Count', method, Stats.SAMPLE_COUNT)],
    ]),
  )
  const failures = sumOf('e', methods.length)
  const requests = sumOf('r', methods.length)
  return new MathExpression({
    expression: `IF((${failures}) >= ${fewest}, 100 * (${failures}) / (${requests}), 0)`,
    usingMetrics,
    period: Duration.minutes(minutes),
    label: `failures in a hundred requests of ${minutes} minutes`,
  })
}

function sumOf(prefix: string, count: number): string {
  return Array.from({ length: count }, (_, index) => `FILL(${prefix}${index}, 0)`).join(' + ')
}

/** Runs that ended otherwise than by their last step: that step says itself what went wrong. */
function endedBadly(machine: StateMachine): IMetric {
  const usingMetrics = {
    m0: machine.metricFailed({ period }),
    m1: machine.metricTimedOut({ period }),
    m2: machine.metricAborted({ period }),
  }
  return new MathExpression({ expression: sumOf('m', 3), usingMetrics, period, label: 'runs ended badly' })
}

function unfinishedAge(work: Work, stage: Stage): Metric {
  return new Metric({
    namespace: metricsNamespace(stage),
    metricName: ageMetric.name,
    dimensionsMap: { [ageMetric.dimension]: work },
    statistic: Stats.MAXIMUM,
    period,
  })
}

function gatewayMetric(
  { api, stage, settings }: Watched,
  route: Route,
  metricName: string,
  method: string,
  statistic: string,
): Metric {
  const Resource = gatewayPathOf(route, settings)
  const dimensionsMap = { ApiName: api.restApiName, Stage: stage.name, Method: method, Resource }
  return new Metric({ namespace: 'AWS/ApiGateway', metricName, dimensionsMap, statistic, period })
}
