import { Duration } from 'aws-cdk-lib'
import { type MathExpression, type Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch'
import { failedRequestMetric, serviceName } from '#shared/platform/base/metrics.ts'
import { gatewayPathOf, methodsOf, type Route } from '#shared/platform/request/route.ts'
import { metricsNamespace } from '../stage.ts'
import type { Measure, Watched } from './measure.ts'
import { sharedGraphs } from './measures.ts'
import { idsOf, math, metric, named, period, sumOf, sumText } from './metrics.ts'

/** What the gateway and the functions behind it measure. */

export const latencyGraph = ({ operation }: Route) => `${operation}: latency (ms)`
export const failureGraph = ({ operation }: Route) => `${operation}: failed requests and tail latency`

/** With fewer requests in five minutes, a percentile is the latency of a single request, such as a cold start. */
const fewestRequests = { 95: 20, 99: 100 } as const

/** The line of a route, in the graph of the route or in one of all routes without a latency budget. */
const lineOf = (route: Route, graph: string) => ({
  label: route.operation,
  route,
  graph: route.latency ? failureGraph(route) : graph,
})

/**
 * The requests that failed by the service's own count, and those that its function left without a response. The 5xx
 * responses of the gateway are no measure of failures: callers can cause them by their own time limits.
 */
export const failedRequests = (route: Route): Measure => ({
  text: `failed requests of ${route.operation} in five minutes`,
  ...lineOf(route, sharedGraphs.failures),
  metric: (watched) => failures(route, watched),
})

/** The latency at the gateway in milliseconds; 0 with too few requests for the percentile. */
export const latencyOf = (route: Route, percentile: 95 | 99): Measure => ({
  text: `the p${percentile} of ${route.operation} in milliseconds, from ${fewestRequests[percentile]} requests in five minutes on,`,
  graph: latencyGraph(route),
  label: route.operation,
  route,
  metric: (watched) => sustainedLatency(route, percentile, watched),
})

/** The p99 divided by the p95; 0 with too few requests to distinguish them. */
export const tailOf = (route: Route): Measure => ({
  text: `the p99 of ${route.operation} divided by its p95`,
  ...lineOf(route, sharedGraphs.tails),
  metric: (watched) => tail(route, watched),
})

/** The percentage of failed requests, as `failedRequests` counts them; 0 for fewer than `fewest` failures. */
export const failureShare = (route: Route, window: { minutes: number; fewest: number }): Measure => ({
  text: `the percentage of failed requests of ${route.operation} in ${window.minutes} minutes, if at least ${window.fewest} failed,`,
  ...lineOf(route, sharedGraphs.failures),
  period: Duration.minutes(window.minutes),
  metric: (watched) =>
    shareOf(
      failuresOf(route, watched, Duration.minutes(window.minutes)),
      methodsOf(route).map((method) => countOf(gatewayOf(route, method, watched))),
      window,
    ),
})

/** The 5xx responses that the gateway made itself, by a filter of its access log. */
export const unansweredMetric = 'unanswered_requests'

/** The percentage of failed requests over all routes. */
export const failureShareOfApi = (fewest: number): Measure => ({
  text: `the percentage of failed requests of all routes in five minutes, if at least ${fewest} failed,`,
  graph: sharedGraphs.api,
  label: 'failed requests (%)',
  metric: (watched) => {
    const namespace = metricsNamespace(watched.stage)
    const failed = metric(namespace, failedRequestMetric.name, {
      dimensionsMap: { [failedRequestMetric.total[0]]: serviceName },
      statistic: Stats.SUM,
    })
    const unanswered = metric(namespace, unansweredMetric, { statistic: Stats.SUM })
    return shareOf([failed, unanswered], [countOf(apiOf(watched))], { minutes: 5, fewest })
  },
})

/** Returns the latency of a route at the gateway, for one of its methods. HEAD is rare and as fast as GET. */
export function latency(route: Route, percentile: number, watched: Watched): Metric {
  const dimensionsMap = gatewayOf(route, route.method, watched)
  return metric('AWS/ApiGateway', 'Latency', { dimensionsMap, statistic: Stats.percentile(percentile) })
}

/** Returns the count of the failed requests of a route, as `failedRequests` measures them. */
export function failures(route: Route, watched: Watched): MathExpression {
  const [prefix] = idsOf(route.operation, 'Failed')
  return sumOf(prefix, 'failed requests', failuresOf(route, watched, period))
}

function sustainedLatency(route: Route, percentile: 95 | 99, watched: Watched): MathExpression {
  const [value, requests] = idsOf(route.operation, `P${percentile}`, 'Count')
  return math({
    label: `p${percentile}`,
    expression: `IF(${requests} >= ${fewestRequests[percentile]}, ${value}, 0)`,
    usingMetrics: {
      [value]: latency(route, percentile, watched),
      [requests]: countOf(gatewayOf(route, route.method, watched)),
    },
  })
}

export function tail(route: Route, watched: Watched): MathExpression {
  const [p99, p95, requests] = idsOf(route.operation, 'P99', 'P95', 'Count')
  return math({
    label: 'p99 over p95',
    expression: `IF(${requests} >= ${fewestRequests[99]}, ${p99} / ${p95}, 0)`,
    usingMetrics: {
      [p99]: latency(route, 99, watched),
      [p95]: latency(route, 95, watched),
      [requests]: countOf(gatewayOf(route, route.method, watched)),
    },
  })
}

/** Returns the counts that add up to the failed requests of a route: those that its function logs, and its crashes. */
function failuresOf({ operation }: Route, { functions, stage }: Watched, per: Duration): Metric[] {
  const failed = metric(metricsNamespace(stage), failedRequestMetric.name, {
    dimensionsMap: { [failedRequestMetric.dimensions[0]]: operation },
    statistic: Stats.SUM,
    period: per,
  })
  return [failed, named(functions, operation).metricErrors({ period: per })]
}

function shareOf(
  failed: readonly Metric[],
  all: readonly Metric[],
  { minutes, fewest }: { minutes: number; fewest: number },
): MathExpression {
  const [failures, requests] = [sumText('e', failed.length), sumText('r', all.length)]
  const usingMetrics = [
    ...failed.map((one, index) => [`e${index}`, one]),
    ...all.map((one, index) => [`r${index}`, one]),
  ]
  return math({
    label: `failed requests (%) in ${minutes} minutes`,
    expression: `IF(${failures} >= ${fewest}, 100 * ${failures} / ${requests}, 0)`,
    usingMetrics: Object.fromEntries(usingMetrics),
    period: Duration.minutes(minutes),
  })
}

function countOf(dimensionsMap: Record<string, string>): Metric {
  return metric('AWS/ApiGateway', 'Count', { dimensionsMap, statistic: Stats.SAMPLE_COUNT })
}

function apiOf({ api, stage }: Watched): Record<string, string> {
  return { ApiName: api.restApiName, Stage: stage.name }
}

function gatewayOf(route: Route, method: string, watched: Watched): Record<string, string> {
  return { ...apiOf(watched), Method: method, Resource: gatewayPathOf(route, watched.settings) }
}
