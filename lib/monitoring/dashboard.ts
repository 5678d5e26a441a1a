import { Stack } from 'aws-cdk-lib'
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch'
import type { Construct } from 'constructs'
import { routes } from '#functions/routes.ts'
import type { Route } from '#shared/platform/request/route.ts'
import { alarmDefinitions } from './alarm-definitions.ts'
import { looks } from './looks.ts'
import type { Watched } from './measure.ts'
import { sharedGraphs } from './measures.ts'
import { period } from './metrics.ts'
import { latency, latencyGraph, tail } from './request-measures.ts'
import {
  busiestQueries,
  errorsByCode,
  failedRequests,
  failedWork,
  ignoredEvents,
  logsOf,
  type SavedQuery,
  slowRequests,
  tenantUsage,
} from './saved-queries.ts'

/**
 * Creates the dashboard of a stage: what the alarms measure, and what has no alarm and is looked at instead.
 */
export function dashboard(scope: Construct, props: Watched): void {
  const { machine, stage } = props
  /** A graph of the measures that are shown there. */
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
  const table = (one: SavedQuery) => queryTable(one, props)
  const rows = [
    [shown(sharedGraphs.api), shown(sharedGraphs.latency)],
    [shown(sharedGraphs.routes), shown(sharedGraphs.areas)],
    [table(failedRequests), table(errorsByCode)],
    routes.flatMap(({ route }) => (route.latency ? [latencies(route, props)] : [])),
    [table(slowRequests), table(tenantUsage)],
    [shown(sharedGraphs.errors), shown(sharedGraphs.schedules)],
    [table(failedWork), table(ignoredEvents)],
    [shown(sharedGraphs.deadLetters), shown(sharedGraphs.streams)],
    [
      shown(sharedGraphs.queues),
      graph(sharedGraphs.imports, [
        machine.metricTime({ period, statistic: cloudwatch.Stats.MAXIMUM, label: 'longest run' }),
        machine.metricTimedOut({ period, label: 'timed out' }),
        machine.metricFailed({ period, label: 'failed' }),
        machine.metricAborted({ period, label: 'aborted' }),
      ]),
    ],
    [shown(sharedGraphs.pending), shown(sharedGraphs.throttles)],
    [shown(sharedGraphs.concurrency), ...ifMeasured(sharedGraphs.blocked)],
    [shown(sharedGraphs.alerts), shown(sharedGraphs.differences)],
    [shown(sharedGraphs.mail), ...ifMeasured(sharedGraphs.backups)],
    [...ifMeasured(sharedGraphs.spillover), ...ifMeasured(sharedGraphs.expiry)],
    busiestQueries.map(table),
    [
      new cloudwatch.TextWidget({
        markdown: '`npx commerce runbook` prints the response to each alarm, and to what is looked at.',
        width: 24,
        height: 1,
      }),
    ],
  ]
  // An account has each name once, in all regions together.
  const dashboardName = `commerce-${stage.name}-${Stack.of(scope).region}`
  const board = new cloudwatch.Dashboard(scope, 'Dashboard', { dashboardName })
  for (const row of rows) board.addWidgets(...row)
}

const measures = [
  ...alarmDefinitions.map(({ threshold }) => threshold.measure),
  ...looks.flatMap(({ shows = [] }) => shows),
]

const halfWidth = { width: 12, height: 6, leftYAxis: { min: 0 } }

function graph(title: string, left: cloudwatch.IMetric[]): cloudwatch.GraphWidget {
  return new cloudwatch.GraphWidget({ title, left, ...halfWidth })
}

/** Returns a table of the results of a saved query. */
function queryTable(query: SavedQuery, { functions }: Watched): cloudwatch.LogQueryWidget {
  const { title, lines } = query
  return new cloudwatch.LogQueryWidget({
    title,
    logGroupNames: logsOf(query, functions),
    queryLines: [...lines],
    width: 12,
    height: 6,
  })
}

/** Returns the latency of a route against its budget, and its p99 as a multiple of its p95. */
function latencies(route: Route, watched: Watched): cloudwatch.GraphWidget {
  const { p95 = 0, p99 = 0 } = route.latency ?? {}
  return new cloudwatch.GraphWidget({
    title: latencyGraph(route),
    left: [latency(route, 95, watched), latency(route, 99, watched)],
    leftAnnotations: [
      { value: p95, label: `p95 budget ${p95} ms` },
      { value: p99, label: `p99 budget ${p99} ms` },
    ],
    right: [tail(route, watched)],
    ...halfWidth,
  })
}
