import { Duration } from 'aws-cdk-lib'
import {
  Dashboard,
  GraphWidget,
  type IMetric,
  MathExpression,
  Metric,
  Stats,
  TextWidget,
} from 'aws-cdk-lib/aws-cloudwatch'
import type { Construct } from 'constructs'
import { routes } from '#functions/routes.ts'
import { errorMetric } from '#shared/platform/base/embedded-metric.ts'
import type { Route } from '#shared/platform/request/route.ts'
import { alarmDefinitions } from './alarm-definitions.ts'
import { isMeasured, latency, metricOf, serverErrors, tail, type Watched } from './alarm-metrics.ts'
import type { Measure } from './alarm-types.ts'
import { failureGraph, latencyGraph, sharedGraphs } from './graph-titles.ts'
import { metricsNamespace } from './metrics-namespace.ts'
import { tailRatio } from './route-alarms.ts'
import type { WorkQueues } from './work-queues.ts'

const period = Duration.minutes(5)
const half = { width: 12, height: 6 }

/**
 * Creates the dashboard of a stage: routes against their budgets, errors by code, and work that is waiting, late or
 * failed.
 */
export function dashboard(scope: Construct, props: Watched): void {
  const { stage } = props
  const board = new Dashboard(scope, 'Dashboard', { dashboardName: `commerce-${stage.name}` })
  board.addWidgets(
    graph('Errors by code', [errorsByCode(props)]),
    graph(sharedGraphs.api, watched('failures in a hundred requests of the API', props)),
  )
  for (const { route } of routes.filter(({ route: one }) => one.latency)) {
    board.addWidgets(latencies(route, props), failures(route, props))
  }
  board.addWidgets(
    graph(
      sharedGraphs.failures,
      routesWithoutLatency.map((route) => labeled(serverErrors(route, props), route)),
    ),
    graph(
      sharedGraphs.tails,
      routesWithoutLatency.map((route) => labeled(tail(route, props), route)),
    ),
  )
  board.addWidgets(
    graph(sharedGraphs.errors, watched('errors of the function', props)),
    graph(sharedGraphs.schedules, watched('completed runs', props)),
  )
  board.addWidgets(
    graph(sharedGraphs.deadLetters, watched('messages in the dead-letter queue', props)),
    graph(sharedGraphs.streams, watched('age of the oldest change', props)),
  )
  board.addWidgets(
    graph(sharedGraphs.queues, queueAges(props.queues)),
    graph(sharedGraphs.imports, imports(props)),
  )
  board.addWidgets(
    graph(sharedGraphs.unfinished, watched('age of the oldest unfinished', props)),
    graph(sharedGraphs.throttles, [
      ...watched('throttled requests of the table', props),
      ...watched('throttled calls of functions', props),
    ]),
  )
  board.addWidgets(
    graph(sharedGraphs.mail, [...watched('rate of bounces', props), ...watched('rate of complaints', props)]),
    ...(props.backupVault ? [graph(sharedGraphs.backups, watched('completed backups', props))] : []),
  )
  board.addWidgets(
    new TextWidget({
      markdown: '`npm run -s runbook` says what to do about each alarm.',
      width: 24,
      height: 1,
    }),
  )
}

const routesWithoutLatency = routes.map(({ route }) => route).filter(({ latency }) => !latency)

/** Returns the metrics of the alarms of a kind, one line for each, labeled with the measured resource. */
function watched(kind: Measure['of'], props: Watched): IMetric[] {
  const measures = alarmDefinitions.flatMap(({ threshold }) => (threshold ? [threshold.measure] : []))
  return measures
    .filter((measure) => measure.of === kind && isMeasured(measure, props))
    .map((measure) => relabeled(metricOf(measure, props), subjectOf(measure)))
}

function subjectOf(measure: Measure): string {
  if ('route' in measure) return measure.route.operation
  if ('work' in measure) return measure.work
  if ('queue' in measure) return measure.queue
  return 'name' in measure ? measure.name : measure.of
}

function graph(title: string, left: IMetric[]): GraphWidget {
  return new GraphWidget({ title, left, leftYAxis: { min: 0 }, ...half })
}

/** Returns one line for each logged error code. The expression names no code. */
function errorsByCode({ stage }: Watched): IMetric {
  const { name, dimensions } = errorMetric
  const search = `{"${metricsNamespace(stage)}",${dimensions}} MetricName="${name}"`
  return new MathExpression({ expression: `SEARCH('${search}', 'Sum', 300)`, label: '', period })
}

function latencies(route: Route, watched: Watched): GraphWidget {
  const { p95 = 0, p99 = 0 } = route.latency ?? {}
  return new GraphWidget({
    title: latencyGraph(route),
    left: [latency(route, 95, watched), latency(route, 99, watched)],
    leftAnnotations: [
      { value: p95, label: `p95 budget ${p95} ms` },
      { value: p99, label: `p99 budget ${p99} ms` },
    ],
    leftYAxis: { min: 0 },
    ...half,
  })
}

function failures(route: Route, watched: Watched): GraphWidget {
  return new GraphWidget({
    title: failureGraph(route),
    left: [serverErrors(route, watched)],
    right: [tail(route, watched)],
    rightAnnotations: [{ value: tailRatio, label: 'above this, the tail is in trouble' }],
    leftYAxis: { min: 0 },
    ...half,
  })
}

function queueAges(queues: WorkQueues): IMetric[] {
  return Object.entries(queues).map(([label, { queue }]) =>
    queue.metricApproximateAgeOfOldestMessage({ label, period, statistic: Stats.MAXIMUM }),
  )
}

function imports({ machine }: Watched): IMetric[] {
  return [
    machine.metricTime({ period, statistic: Stats.MAXIMUM, label: 'longest run' }),
    machine.metricTimedOut({ period, label: 'timed out' }),
    machine.metricFailed({ period, label: 'failed' }),
  ]
}

function labeled(metric: IMetric, { operation }: Route): IMetric {
  return relabeled(metric, operation)
}

function relabeled(metric: IMetric, label: string): IMetric {
  if (metric instanceof Metric) return metric.with({ label })
  return metric instanceof MathExpression ? metric.with({ label }) : metric
}
