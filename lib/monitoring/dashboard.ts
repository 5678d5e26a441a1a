import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch'
import type { Construct } from 'constructs'
import { routes } from '#functions/routes.ts'
import { errorMetric } from '#shared/platform/base/metrics.ts'
import type { Route } from '#shared/platform/request/route.ts'
import { unknownRoute } from '../function-entries.ts'
import { metricsNamespace } from '../stage.ts'
import { alarmDefinitions } from './alarm-definitions.ts'
import { busiestQueries } from './busiest.ts'
import type { Watched } from './measure.ts'
import { sharedGraphs } from './measures.ts'
import { period } from './metrics.ts'
import { failureGraph, failures, latency, latencyGraph, tail } from './request-measures.ts'
import { tailRatio } from './route-alarms.ts'

/**
 * Creates the dashboard of a stage: routes against their budgets, errors by code, and work that is waiting, late or
 * failed.
 */
export function dashboard(scope: Construct, props: Watched): void {
  const { machine, stage } = props
  /** A graph of the measures of alarms that are shown there. */
  const shown = (title: string) =>
    graph(
      title,
      measures
        .filter((one) => one.graph === title)
        .flatMap((one) => one.metric(props)?.with({ label: one.label }) ?? []),
    )
  /** The same on stages that have something to show. */
  const ifMeasured = (title: string) =>
    measures.some((one) => one.graph === title && one.metric(props)) ? [shown(title)] : []
  const unbudgeted = routes.map(({ route }) => route).filter(({ latency }) => !latency)
  const labeled = (of: typeof tail) =>
    unbudgeted.map((route) => of(route, props).with({ label: route.operation }))
  const rows = [
    [graph('Errors by code', [errorsByCode(stage)]), shown(sharedGraphs.api)],
    ...routes.flatMap(({ route }) =>
      route.latency ? [[latencies(route, props), failureWidget(route, props)]] : [],
    ),
    [graph(sharedGraphs.failures, labeled(failures)), graph(sharedGraphs.tails, labeled(tail))],
    [shown(sharedGraphs.errors), shown(sharedGraphs.schedules)],
    [shown(sharedGraphs.deadLetters), shown(sharedGraphs.streams)],
    [
      shown(sharedGraphs.queues),
      graph(sharedGraphs.imports, [
        machine.metricTime({ period, statistic: cloudwatch.Stats.MAXIMUM, label: 'longest run' }),
        machine.metricTimedOut({ period, label: 'timed out' }),
        machine.metricFailed({ period, label: 'failed' }),
      ]),
    ],
    [shown(sharedGraphs.unfinished), shown(sharedGraphs.throttles)],
    [shown(sharedGraphs.concurrency), shown(sharedGraphs.blocked)],
    [shown(sharedGraphs.alerts), shown(sharedGraphs.differences)],
    [shown(sharedGraphs.mail), ...ifMeasured(sharedGraphs.backups)],
    [...ifMeasured(sharedGraphs.spillover), ...ifMeasured(sharedGraphs.expiry)],
    busiestQueries.map(({ title, lines }) => requestQuery(title, lines, props)),
    [
      new cloudwatch.TextWidget({
        markdown: '`npx commerce runbook` prints the response to each alarm.',
        width: 24,
        height: 1,
      }),
    ],
  ]
  const board = new cloudwatch.Dashboard(scope, 'Dashboard', { dashboardName: `commerce-${stage.name}` })
  for (const row of rows) board.addWidgets(...row)
}

const measures = alarmDefinitions.flatMap(({ thresholds }) => thresholds.map(({ measure }) => measure))

const halfWidth = { width: 12, height: 6, leftYAxis: { min: 0 } }

function graph(title: string, left: cloudwatch.IMetric[]): cloudwatch.GraphWidget {
  return new cloudwatch.GraphWidget({ title, left, ...halfWidth })
}

/** Returns a table of the results of a query over the logs of all functions behind the gateway. */
function requestQuery(
  title: string,
  lines: readonly string[],
  { functions }: Watched,
): cloudwatch.LogQueryWidget {
  const names = [...routes.map(({ route }) => route.operation), unknownRoute.name]
  const handlers = new Set(names.flatMap((name) => functions.get(name) ?? []))
  const logGroupNames = [...handlers].map(({ logGroup }) => logGroup.logGroupName)
  return new cloudwatch.LogQueryWidget({ title, logGroupNames, queryLines: [...lines], width: 12, height: 6 })
}

/** Returns one line for each logged error code. The expression names no code. */
function errorsByCode(stage: Watched['stage']): cloudwatch.IMetric {
  const { name, dimensions } = errorMetric
  const search = `{"${metricsNamespace(stage)}",${dimensions}} MetricName="${name}"`
  return new cloudwatch.MathExpression({ expression: `SEARCH('${search}', 'Sum', 300)`, label: '', period })
}

function latencies(route: Route, watched: Watched): cloudwatch.GraphWidget {
  const { p95 = 0, p99 = 0 } = route.latency ?? {}
  return new cloudwatch.GraphWidget({
    title: latencyGraph(route),
    left: [latency(route, 95, watched), latency(route, 99, watched)],
    leftAnnotations: [
      { value: p95, label: `p95 budget ${p95} ms` },
      { value: p99, label: `p99 budget ${p99} ms` },
    ],
    ...halfWidth,
  })
}

function failureWidget(route: Route, watched: Watched): cloudwatch.GraphWidget {
  return new cloudwatch.GraphWidget({
    title: failureGraph(route),
    left: [failures(route, watched)],
    right: [tail(route, watched)],
    rightAnnotations: [{ value: tailRatio, label: 'alarm above this ratio' }],
    ...halfWidth,
  })
}
