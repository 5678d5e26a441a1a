import { Duration } from 'aws-cdk-lib'
import type { RestApi } from 'aws-cdk-lib/aws-apigateway'
import type { IBackupVault } from 'aws-cdk-lib/aws-backup'
import {
  MathExpression,
  type MathExpressionProps,
  Metric,
  type MetricOptions,
  Stats,
} from 'aws-cdk-lib/aws-cloudwatch'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import type { IQueue } from 'aws-cdk-lib/aws-sqs'
import type { StateMachine } from 'aws-cdk-lib/aws-stepfunctions'
import { ageMetric, type Work } from '#shared/platform/base/log.ts'
import type { TaskQueue } from '#shared/platform/events/outbox.ts'
import { gatewayPathOf, type Route } from '#shared/platform/request/route.ts'
import { byIdIndex } from '#shared/platform/table/keys.ts'
import type { Settings } from '#shared/settings/register.ts'
import type { DataTable } from './data-table.ts'
import { methodsOf } from './endpoint-functions.ts'
import { pascalCase } from './function-entries.ts'
import type { WorkQueues } from './queues.ts'
import { metricsNamespace, type Stage } from './stage.ts'

/** The monitored resources: the gateway, and the functions and queues by operation, subscription or step. */
export interface Watched {
  stage: Stage
  settings: Settings
  api: RestApi
  functions: ReadonlyMap<string, IFunction>
  deadLetters: ReadonlyMap<string, IQueue>
  queues: WorkQueues
  table: DataTable
  /** Present on a stage with backups of the table. */
  backupVault?: IBackupVault | undefined
  /** The import workflow. */
  machine: StateMachine
}

/** A value that alarms compare with a limit. */
export interface Measure {
  /** The sentence part that names it in the runbook. */
  text: string
  /** The graph of the dashboard that shows it, and its line there. */
  graph: string
  label: string
  route?: Route
  /** Five minutes unless given. */
  period?: Duration
  /** Returns undefined on a stage without the measured resource. */
  metric(watched: Watched): AnyMetric | undefined
}

export type AnyMetric = Metric | MathExpression

/** The graphs of the dashboard that show several routes, functions or queues. */
export const sharedGraphs = {
  api: 'API: failed requests (%)',
  failures: 'Routes without a latency budget: 5XX responses',
  tails: 'Routes without a latency budget: p99 over p95',
  schedules: 'Scheduled functions: completed runs',
  throttles: 'Throttled requests of the table and calls of functions',
  backups: 'Completed backups',
  mail: 'Mail: bounce and complaint rates',
  errors: 'Functions without a route: errors',
  deadLetters: 'Dead letters',
  streams: 'Streams: age of the oldest change (ms)',
  queues: 'Queues: age of the oldest message (s)',
  unfinished: 'Pending refunds and imports: age of the oldest (s)',
  imports: 'Imports: duration (ms), timeouts, failures',
} as const

export const latencyGraph = ({ operation }: Route) => `${operation}: latency (ms)`
export const failureGraph = ({ operation }: Route) => `${operation}: 5XX responses and tail latency`

/** With fewer requests in five minutes, the p99 is the latency of a single request. */
const tailRequests = 100

/** The period of a measure unless it has another one. */
export const period = Duration.minutes(5)
const hour = Duration.hours(1)
const longest: MetricOptions = { statistic: Stats.MAXIMUM, period }

/** The line of a route, in the graph of the route or in one of all routes without a latency budget. */
const lineOf = (route: Route, graph: string) => ({
  label: route.operation,
  route,
  graph: route.latency ? failureGraph(route) : graph,
})

/** The failed requests: 5xx responses of the function, which AWS does not count as errors, and requests without a response. */
export const failedRequests = (route: Route): Measure => ({
  text: `failed requests of ${route.operation} in five minutes`,
  ...lineOf(route, sharedGraphs.failures),
  metric: (watched) => {
    const [unanswered, answered] = idsOf(route.operation, 'Unanswered', 'Answered')
    return math({
      label: 'failed requests',
      expression: `MAX([FILL(${unanswered}, 0), ${answered}])`,
      usingMetrics: {
        [unanswered]: named(watched.functions, route.operation).metricErrors({ period }),
        [answered]: serverErrors(route, watched),
      },
    })
  },
})

/** The latency at the gateway in milliseconds. */
export const latencyOf = (route: Route, percentile: 95 | 99): Measure => ({
  text: `the p${percentile} of ${route.operation} in milliseconds`,
  graph: latencyGraph(route),
  label: route.operation,
  route,
  metric: (watched) => latency(route, percentile, watched),
})

/** The p99 divided by the p95; 0 with too few requests to distinguish them. */
export const tailOf = (route: Route): Measure => ({
  text: `the p99 of ${route.operation} divided by its p95`,
  ...lineOf(route, sharedGraphs.tails),
  metric: (watched) => tail(route, watched),
})

/** The percentage of requests with 5xx; 0 for fewer than `fewest` failures. */
export const failureShare = (route: Route, window: { minutes: number; fewest: number }): Measure => ({
  text: `the percentage of failed requests of ${route.operation} in ${window.minutes} minutes, from ${window.fewest} failures on,`,
  ...lineOf(route, sharedGraphs.failures),
  period: Duration.minutes(window.minutes),
  metric: (watched) =>
    shareOf(
      methodsOf(route).map((method) => gatewayOf(route, method, watched)),
      window,
    ),
})

/** The percentage of requests with 5xx over all routes. */
export const failureShareOfApi = (fewest: number): Measure => ({
  text: `the percentage of failed requests of all routes in five minutes, from ${fewest} failures on,`,
  graph: sharedGraphs.api,
  label: 'failed requests (%)',
  metric: (watched) => shareOf([apiOf(watched)], { minutes: 5, fewest }),
})

export const errorsOf = (name: string): Measure => ({
  text: `errors of the function ${name} in five minutes`,
  graph: sharedGraphs.errors,
  label: name,
  metric: ({ functions }) => named(functions, name).metricErrors({ period }),
})

/** The runs of a scheduled function that ended without an error. */
export const completedRunsOf = (name: string): Measure => ({
  text: `runs of ${name} without an error in five minutes`,
  graph: sharedGraphs.schedules,
  label: name,
  metric: ({ functions }) => {
    const handler = named(functions, name)
    const [runs, errors] = idsOf(name, 'Runs', 'Errors')
    return math({
      label: 'completed runs',
      expression: `FILL(${runs}, 0) - FILL(${errors}, 0)`,
      usingMetrics: {
        [runs]: handler.metricInvocations({ period }),
        [errors]: handler.metricErrors({ period }),
      },
    })
  },
})

export const deadLettersOf = (name: string): Measure => ({
  text: `messages in the dead-letter queue of ${name}`,
  graph: sharedGraphs.deadLetters,
  label: name,
  metric: ({ deadLetters }) => deadLetters.get(name)?.metricApproximateNumberOfMessagesVisible({ period }),
})

export const oldestMessageIn = (queue: TaskQueue): Measure => ({
  text: `the age of the oldest message in the queue ${queue}, in seconds,`,
  graph: sharedGraphs.queues,
  label: queue,
  metric: ({ queues }) => queues[queue].queue.metricApproximateAgeOfOldestMessage(longest),
})

export const oldestChangeFor = (name: string): Measure => ({
  text: `the age of the oldest change that waits for ${name}, in milliseconds,`,
  graph: sharedGraphs.streams,
  label: name,
  metric: ({ functions }) => named(functions, name).metric('IteratorAge', longest),
})

export const oldestUnfinished = (work: Work): Measure => ({
  text: `the age of the oldest of the pending ${work}, in seconds,`,
  graph: sharedGraphs.unfinished,
  label: work,
  metric: ({ stage }) =>
    metric(metricsNamespace(stage), ageMetric.name, {
      dimensionsMap: { [ageMetric.dimensions[0]]: work },
      ...longest,
    }),
})

/** The imports that did not end with their last step. That step logs its own errors. */
export const failedImports: Measure = {
  text: 'failed, timed out or aborted runs of the import workflow in five minutes',
  graph: sharedGraphs.imports,
  label: 'failed runs',
  metric: ({ machine }) =>
    sumOf('m', 'failed runs', [
      machine.metricFailed({ period }),
      machine.metricTimedOut({ period }),
      machine.metricAborted({ period }),
    ]),
}

/** The throttled reads and writes of the table and of its index, which is throttled separately. */
export const throttledRequests: Measure = {
  text: 'throttled requests of the table in five minutes',
  graph: sharedGraphs.throttles,
  label: 'throttled requests of the table',
  metric: ({ table: { tableName: TableName } }) => {
    const throttled = [{ TableName }, { TableName, GlobalSecondaryIndexName: byIdIndex }].flatMap(
      (dimensionsMap) =>
        ['ReadThrottleEvents', 'WriteThrottleEvents'].map((name) =>
          metric('AWS/DynamoDB', name, { dimensionsMap, statistic: Stats.SUM }),
        ),
    )
    return sumOf('t', 'throttled requests', throttled)
  },
}

/** The throttled calls of all functions of the account, which share one quota: there is no dimension. */
export const throttledCalls: Measure = {
  text: 'throttled calls of functions in five minutes',
  graph: sharedGraphs.throttles,
  label: 'throttled calls of functions',
  metric: () => metric('AWS/Lambda', 'Throttles', { statistic: Stats.SUM }),
}

/** https://docs.aws.amazon.com/aws-backup/latest/devguide/cloudwatch.html */
export const completedBackups: Measure = {
  text: 'completed backups of the table in an hour',
  graph: sharedGraphs.backups,
  label: 'completed backups',
  period: hour,
  metric: ({ backupVault }) =>
    backupVault &&
    metric('AWS/Backup', 'NumberOfBackupJobsCompleted', {
      dimensionsMap: { BackupVaultName: backupVault.backupVaultName },
      statistic: Stats.SUM,
      period: hour,
    }),
}

/** https://docs.aws.amazon.com/ses/latest/dg/reputationdashboard-cloudwatch-alarm.html */
export const mailRate = (kind: 'Bounce' | 'Complaint'): Measure => ({
  text: `the ${kind.toLowerCase()} rate of the account’s mails, from 0 to 1,`,
  graph: sharedGraphs.mail,
  label: `${kind.toLowerCase()} rate`,
  period: hour,
  metric: () => metric('AWS/SES', `Reputation.${kind}Rate`, { statistic: Stats.AVERAGE, period: hour }),
})

function metric(namespace: string, metricName: string, options: MetricOptions): Metric {
  return new Metric({ namespace, metricName, period, ...options })
}

/** @throws Error for a function that the stack does not have */
function named(functions: ReadonlyMap<string, IFunction>, name: string): IFunction {
  const found = functions.get(name)
  if (found === undefined) throw new Error(`there is no function ${name}`)
  return found
}

/** Returns the latency of a route at the gateway, for one of its methods. HEAD is rare and as fast as GET. */
export function latency(route: Route, percentile: number, watched: Watched): Metric {
  const dimensionsMap = gatewayOf(route, route.method, watched)
  return metric('AWS/ApiGateway', 'Latency', { dimensionsMap, statistic: Stats.percentile(percentile) })
}

/** Returns the count of 5xx responses over all methods of the route. */
export function serverErrors(route: Route, watched: Watched): MathExpression {
  const sums = methodsOf(route).map((method) => count('5XXError', gatewayOf(route, method, watched)))
  return sumOf(idsOf(route.operation, 'Answer')[0], '5XX', sums)
}

export function tail(route: Route, watched: Watched): MathExpression {
  const [p99, p95, requests] = idsOf(route.operation, 'P99', 'P95', 'Count')
  return math({
    label: 'p99 over p95',
    expression: `IF(${requests} >= ${tailRequests}, ${p99} / ${p95}, 0)`,
    usingMetrics: {
      [p99]: latency(route, 99, watched),
      [p95]: latency(route, 95, watched),
      [requests]: count('Count', gatewayOf(route, route.method, watched)),
    },
  })
}

function shareOf(
  dimensions: readonly Record<string, string>[],
  { minutes, fewest }: { minutes: number; fewest: number },
): MathExpression {
  const [failures, requests] = [sumText('e', dimensions.length), sumText('r', dimensions.length)]
  const usingMetrics = dimensions.flatMap((one, index) => [
    [`e${index}`, count('5XXError', one)],
    [`r${index}`, count('Count', one)],
  ])
  return math({
    label: `failed requests (%) in ${minutes} minutes`,
    expression: `IF(${failures} >= ${fewest}, 100 * ${failures} / ${requests}, 0)`,
    usingMetrics: Object.fromEntries(usingMetrics),
    period: Duration.minutes(minutes),
  })
}

function math(props: MathExpressionProps): MathExpression {
  return new MathExpression({ period, ...props })
}

function sumOf(prefix: string, label: string, metrics: readonly Metric[]): MathExpression {
  const usingMetrics = Object.fromEntries(metrics.map((one, index) => [`${prefix}${index}`, one]))
  return math({ expression: sumText(prefix, metrics.length), usingMetrics, label })
}

/** SUM ignores metrics without data, such as those of HEAD; + would return nothing. */
function sumText(prefix: string, length: number): string {
  return `SUM([${Array.from({ length }, (_, index) => `${prefix}${index}`).join(', ')}])`
}

/** Returns ids of metrics, which are unique in a graph and start with a lowercase letter. */
function idsOf<const T extends readonly string[]>(
  operation: string,
  ...parts: T
): { [K in keyof T]: string } {
  const name = pascalCase(operation)
  const prefix = name.charAt(0).toLowerCase() + name.slice(1)
  return parts.map((part) => prefix + part) as { [K in keyof T]: string }
}

function count(metricName: '5XXError' | 'Count', dimensionsMap: Record<string, string>): Metric {
  const statistic = metricName === 'Count' ? Stats.SAMPLE_COUNT : Stats.SUM
  return metric('AWS/ApiGateway', metricName, { dimensionsMap, statistic })
}

function apiOf({ api, stage }: Watched): Record<string, string> {
  return { ApiName: api.restApiName, Stage: stage.name }
}

function gatewayOf(route: Route, method: string, watched: Watched): Record<string, string> {
  return { ...apiOf(watched), Method: method, Resource: gatewayPathOf(route, watched.settings) }
}
