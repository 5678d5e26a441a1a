import { Duration } from 'aws-cdk-lib'
import type { RestApi } from 'aws-cdk-lib/aws-apigateway'
import type { IBackupVault } from 'aws-cdk-lib/aws-backup'
import { type IMetric, MathExpression, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import type { Queue } from 'aws-cdk-lib/aws-sqs'
import type { StateMachine } from 'aws-cdk-lib/aws-stepfunctions'
import { ageMetric, type Work } from '#shared/platform/base/embedded-metric.ts'
import { gatewayPathOf, type Route } from '#shared/platform/request/route.ts'
import { byIdIndex } from '#shared/platform/table/keys.ts'
import type { Settings } from '#shared/settings/register.ts'
import { type Measure, periodSeconds } from './alarm-types.ts'
import type { DataTable } from './data-table.ts'
import { methodsOf } from './endpoint-functions.ts'
import { metricsNamespace } from './metrics-namespace.ts'
import { tailRequests } from './route-alarms.ts'
import { pascalCase } from './service-function.ts'
import type { Stage } from './stage.ts'
import type { WorkQueues } from './work-queues.ts'

/** The monitored resources: the gateway, and the functions and queues by operation, subscription or step. */
export interface Watched {
  stage: Stage
  settings: Settings
  api: RestApi
  functions: ReadonlyMap<string, IFunction>
  deadLetters: ReadonlyMap<string, Queue>
  queues: WorkQueues
  table: DataTable
  /** Present on a stage with backups of the table. */
  backupVault?: IBackupVault | undefined
  /** The import workflow. */
  machine: StateMachine
}

const period = Duration.minutes(5)

/** Returns whether the stage has the measured resource. Not every stage has backups or dead letters of the bus. */
export function isMeasured(measure: Measure, { backupVault, deadLetters }: Watched): boolean {
  if (measure.of === 'completed backups') return backupVault !== undefined
  return measure.of !== 'messages in the dead-letter queue' || deadLetters.has(measure.name)
}

/** @throws Error for a function or a queue that the stack does not have */
export function metricOf(measure: Measure, watched: Watched): IMetric {
  switch (measure.of) {
    case 'failed requests':
      return failedRequests(measure.route, watched)
    case 'latency':
      return latency(measure.route, measure.percentile, watched)
    case 'tail':
      return tail(measure.route, watched)
    case 'failures in a hundred requests':
      return failureShare(
        methodsOf(measure.route).map((method) => gatewayDimensions(watched, measure.route, method)),
        measure,
      )
    case 'failures in a hundred requests of the API':
      return failureShare([apiDimensions(watched)], measure)
    case 'completed runs':
      return completedRuns(measure.name, watched)
    case 'age of the oldest message':
      return watched.queues[measure.queue].queue.metricApproximateAgeOfOldestMessage({
        statistic: Stats.MAXIMUM,
        period,
      })
    case 'throttled requests of the table':
      return throttledRequests(watched.table)
    case 'throttled calls of functions':
      // Without a dimension, the metric counts all functions of the account, which share one quota.
      return new Metric({
        namespace: 'AWS/Lambda',
        metricName: 'Throttles',
        statistic: Stats.SUM,
        period,
      })
    case 'completed backups':
      return completedBackups(watched)
    case 'rate of bounces':
      return reputation('Reputation.BounceRate')
    case 'rate of complaints':
      return reputation('Reputation.ComplaintRate')
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

/** Returns the latency of a route at the gateway, for one of its methods. HEAD is rare and as fast as GET. */
export function latency(route: Route, percentile: number, watched: Watched): Metric {
  const dimensions = gatewayDimensions(watched, route, route.method)
  return gatewayMetric('Latency', dimensions, Stats.percentile(percentile))
}

/** Returns the count of 5xx responses over all methods of the route. */
export function serverErrors(route: Route, watched: Watched): IMetric {
  const sums = methodsOf(route).map((method) =>
    gatewayMetric('5XXError', gatewayDimensions(watched, route, method), Stats.SUM),
  )
  const prefix = `${metricId(route.operation)}Answer`
  const usingMetrics = Object.fromEntries(sums.map((metric, index) => [`${prefix}${index}`, metric]))
  return new MathExpression({ expression: sumOf(prefix, sums.length), usingMetrics, period, label: '5XX' })
}

/** Returns the prefix of metric ids, which are unique in a graph and start with a lowercase letter. */
function metricId(operation: string): string {
  const name = pascalCase(operation)
  return name.charAt(0).toLowerCase() + name.slice(1)
}

/**
 * Returns the failed requests: 5xx responses of the function, which AWS does not count as errors of the function, and
 * requests that it did not answer at all.
 */
function failedRequests(route: Route, watched: Watched): IMetric {
  const [unanswered, answered] = [
    `${metricId(route.operation)}Unanswered`,
    `${metricId(route.operation)}Answered`,
  ]
  const usingMetrics = {
    [unanswered]: named(watched.functions, route.operation).metricErrors({ period }),
    [answered]: serverErrors(route, watched),
  }
  const expression = `MAX([FILL(${unanswered}, 0), ${answered}])`
  return new MathExpression({ expression, usingMetrics, period, label: 'failed requests' })
}

/** Returns the percentage of requests with 5xx, over one or several sets of dimensions. */
function failureShare(
  dimensions: readonly Record<string, string>[],
  measure: Measure & { fewest: number },
): IMetric {
  const usingMetrics = Object.fromEntries(
    dimensions.flatMap((dimensionsMap, index) => [
      [`e${index}`, gatewayMetric('5XXError', dimensionsMap, Stats.SUM)],
      [`r${index}`, gatewayMetric('Count', dimensionsMap, Stats.SAMPLE_COUNT)],
    ]),
  )
  const failures = sumOf('e', dimensions.length)
  const requests = sumOf('r', dimensions.length)
  const seconds = periodSeconds(measure)
  return new MathExpression({
    expression: `IF(${failures} >= ${measure.fewest}, 100 * ${failures} / ${requests}, 0)`,
    usingMetrics,
    period: Duration.seconds(seconds),
    label: `failures in a hundred requests of ${seconds / 60} minutes`,
  })
}

/** Returns the p99 divided by the p95, or 0 if there are too few requests to distinguish them. */
export function tail(route: Route, watched: Watched): MathExpression {
  const id = metricId(route.operation)
  const [p99, p95, count] = [`${id}P99`, `${id}P95`, `${id}Count`]
  const usingMetrics = {
    [p99]: latency(route, 99, watched),
    [p95]: latency(route, 95, watched),
    [count]: gatewayMetric('Count', gatewayDimensions(watched, route, route.method), Stats.SAMPLE_COUNT),
  }
  const expression = `IF(${count} >= ${tailRequests}, ${p99} / ${p95}, 0)`
  return new MathExpression({ expression, usingMetrics, label: 'p99 over p95', period })
}

function completedRuns(name: string, { functions }: Watched): IMetric {
  const handler = named(functions, name)
  const [runs, errors] = [`${metricId(name)}Runs`, `${metricId(name)}Errors`]
  const usingMetrics = {
    [runs]: handler.metricInvocations({ period }),
    [errors]: handler.metricErrors({ period }),
  }
  const expression = `FILL(${runs}, 0) - FILL(${errors}, 0)`
  return new MathExpression({ expression, usingMetrics, period, label: 'completed runs' })
}

/** Returns the throttled reads and writes of the table and of its index, which is throttled separately. */
function throttledRequests({ tableName: TableName }: DataTable): IMetric {
  const throttled = (metricName: string, more: Record<string, string>) =>
    new Metric({
      namespace: 'AWS/DynamoDB',
      metricName,
      dimensionsMap: { TableName, ...more },
      statistic: Stats.SUM,
      period,
    })
  const ofIndex = { GlobalSecondaryIndexName: byIdIndex }
  const usingMetrics = {
    t0: throttled('ReadThrottleEvents', {}),
    t1: throttled('WriteThrottleEvents', {}),
    t2: throttled('ReadThrottleEvents', ofIndex),
    t3: throttled('WriteThrottleEvents', ofIndex),
  }
  return new MathExpression({ expression: sumOf('t', 4), usingMetrics, period, label: 'throttled requests' })
}

/** https://docs.aws.amazon.com/aws-backup/latest/devguide/cloudwatch.html */
function completedBackups({ backupVault }: Watched): Metric {
  if (!backupVault) throw new Error('the stage has no backups')
  return new Metric({
    namespace: 'AWS/Backup',
    metricName: 'NumberOfBackupJobsCompleted',
    dimensionsMap: { BackupVaultName: backupVault.backupVaultName },
    statistic: Stats.SUM,
    period: Duration.hours(1),
  })
}

/** https://docs.aws.amazon.com/ses/latest/dg/reputationdashboard-cloudwatch-alarm.html */
function reputation(metricName: string): Metric {
  return new Metric({ namespace: 'AWS/SES', metricName, statistic: Stats.AVERAGE, period: Duration.hours(1) })
}

/** Returns the sum of metrics. SUM ignores metrics without data, such as those of HEAD; + would return nothing. */
function sumOf(prefix: string, count: number): string {
  return `SUM([${Array.from({ length: count }, (_, index) => `${prefix}${index}`).join(', ')}])`
}

/** Returns the runs that did not end with their last step. That step logs its own errors. */
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
    dimensionsMap: { [ageMetric.dimensions[0]]: work },
    statistic: Stats.MAXIMUM,
    period,
  })
}

function gatewayMetric(metricName: string, dimensionsMap: Record<string, string>, statistic: string): Metric {
  return new Metric({ namespace: 'AWS/ApiGateway', metricName, dimensionsMap, statistic, period })
}

function apiDimensions({ api, stage }: Watched): Record<string, string> {
  return { ApiName: api.restApiName, Stage: stage.name }
}

function gatewayDimensions(watched: Watched, route: Route, method: string): Record<string, string> {
  return { ...apiDimensions(watched), Method: method, Resource: gatewayPathOf(route, watched.settings) }
}
