import { Duration } from 'aws-cdk-lib'
import { type MathExpression, type Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch'
import { failedRequestMetric, serviceName } from '#shared/platform/base/metrics.ts'
import { alarmGroupOf, gatewayPathOf, type Route } from '#shared/platform/request/route.ts'
import { metricsNamespace } from '../stage.ts'
import type { Measure, Watched } from './measure.ts'
import { sharedGraphs } from './measures.ts'
import { functionNamed, math, metric, metricIds, sumText } from './metrics.ts'

/** What the gateway and the functions behind it measure. */

export const latencyGraph = ({ operation }: Route) => `${operation}: latency (ms)`

/**
 * The percentage of a route's requests that failed by the service's own count or without a response of its function; 0 for
 * fewer than `fewest` failures. The 5xx responses of the gateway are no measure of failures: callers can cause them by their
 * own time limits. HEAD is rare and is left out of the requests.
 */
export const failureShare = (route: Route, window: FailureWindow): Measure => ({
  text: `the percentage of failed requests of ${route.operation} in ${window.minutes} minutes, if at least ${window.fewest} failed,`,
  graph: sharedGraphs.routes,
  label: route.operation,
  period: Duration.minutes(window.minutes),
  metric: (watched) => {
    const errors = functionNamed(watched.functions, route.operation).metricErrors()
    const parts = [failed(alarmGroupOf(route), watched), errors]
    return shareOf(route.operation, parts, [requestsOf(gatewayOf(route, watched))], window)
  },
})

interface Area {
  operations: readonly string[]
  /** The functions whose errors count as well. */
  further: readonly string[]
}

/** An alarm of CloudWatch reads ten metrics at most. */
const mostMetrics = 10

/**
 * The percentage of failed requests of the routes of an area without an alarm of their own, with the errors of further
 * functions. Requests are the invocations of its functions, whose metrics cost nothing; those of the gateway would. An area
 * with more functions than an alarm can read is compared with the whole API.
 */
export const failureShareOfArea = (
  area: string,
  window: FailureWindow,
  { operations, further }: Area,
): Measure => ({
  text: `the percentage of failed requests of the area ${area} in ${window.minutes} minutes, if at least ${window.fewest} failed,`,
  graph: sharedGraphs.areas,
  label: area,
  period: Duration.minutes(window.minutes),
  metric: (watched) => {
    const errors = further.map((name) => functionNamed(watched.functions, name).metricErrors())
    const parts = [failed(area, watched), ...errors]
    const handlers = [...new Set(operations.map((operation) => functionNamed(watched.functions, operation)))]
    const requests =
      handlers.length + parts.length > mostMetrics
        ? [requestsOf(apiOf(watched))]
        : handlers.map((handler) => handler.metricInvocations())
    return shareOf(area, parts, requests, window)
  },
})

/** The 5xx responses that the gateway made itself, by a filter of its access log. */
export const unansweredMetric = 'unanswered_requests'

/** The requests that no function answered, as a percentage of all requests. */
export const unansweredShare = (window: FailureWindow): Measure => ({
  text: `the requests without the response of a function as a percentage of all requests in ${window.minutes} minutes, if at least ${window.fewest} had none,`,
  graph: sharedGraphs.areas,
  label: 'unanswered',
  period: Duration.minutes(window.minutes),
  metric: (watched) => shareOf('unanswered', [unanswered(watched)], [requestsOf(apiOf(watched))], window),
})

/** The percentage of failed requests over all routes. */
export const failureShareOfApi = (fewest: number): Measure => ({
  text: `the percentage of failed requests of all routes in five minutes, if at least ${fewest} failed,`,
  graph: sharedGraphs.api,
  label: 'failed requests (%)',
  metric: (watched) => {
    const all = serviceMetric(
      failedRequestMetric.name,
      { [failedRequestMetric.total[0]]: serviceName },
      watched,
    )
    return shareOf('api', [all, unanswered(watched)], [requestsOf(apiOf(watched))], { minutes: 5, fewest })
  },
})

/** The latency of all requests together. */
export const latencyOfApi: Measure = {
  text: 'the p99 of all requests in milliseconds',
  graph: sharedGraphs.latency,
  label: 'p99 of all requests',
  metric: (watched) =>
    metric('AWS/ApiGateway', 'Latency', {
      dimensionsMap: apiOf(watched),
      statistic: Stats.percentile(99),
    }),
}

/** Returns the latency of a route at the gateway. HEAD is rare and as fast as GET. */
export function latency(route: Route, percentile: number, watched: Watched): Metric {
  const dimensionsMap = gatewayOf(route, watched)
  return metric('AWS/ApiGateway', 'Latency', { dimensionsMap, statistic: Stats.percentile(percentile) })
}

/** With fewer requests in five minutes, a percentile is the latency of a single request, such as a cold start. */
const fewestForTail = 100

/** Returns the p99 divided by the p95; 0 with too few requests to distinguish them. */
export function tail(route: Route, watched: Watched): MathExpression {
  const [p99, p95, requests] = metricIds(route.operation, 'P99', 'P95', 'Count')
  return math({
    label: 'p99 over p95',
    expression: `IF(${requests} >= ${fewestForTail}, ${p99} / ${p95}, 0)`,
    usingMetrics: {
      [p99]: latency(route, 99, watched),
      [p95]: latency(route, 95, watched),
      [requests]: requestsOf(gatewayOf(route, watched)),
    },
  })
}

/** The time over which failures are counted, and the fewest of them that notify somebody: on a quiet day one is a large share. */
export interface FailureWindow {
  minutes: number
  fewest: number
}

/** @param name begins the ids of its metrics, which are unique in a graph */
function shareOf(
  name: string,
  parts: readonly Metric[],
  requests: readonly Metric[],
  { minutes, fewest }: FailureWindow,
): MathExpression {
  const [failure, request] = metricIds(name, 'Failed', 'Requests')
  const failures = sumText(failure, parts.length)
  const ids = (prefix: string, metrics: readonly Metric[]) =>
    metrics.map((one, index) => [`${prefix}${index}`, one] as const)
  return math({
    label: `failed requests (%) in ${minutes} minutes`,
    expression: `IF(${failures} >= ${fewest}, 100 * ${failures} / ${sumText(request, requests.length)}, 0)`,
    usingMetrics: Object.fromEntries([...ids(failure, parts), ...ids(request, requests)]),
    period: Duration.minutes(minutes),
  })
}

/** Returns the failed requests of what an alarm watches, as the functions log them. */
function failed(watchedAsOne: string, watched: Watched): Metric {
  return serviceMetric(
    failedRequestMetric.name,
    { [failedRequestMetric.dimensions[0]]: watchedAsOne },
    watched,
  )
}

function unanswered(watched: Watched): Metric {
  return serviceMetric(unansweredMetric, {}, watched)
}

function serviceMetric(name: string, dimensionsMap: Record<string, string>, { stage }: Watched): Metric {
  return metric(metricsNamespace(stage), name, { dimensionsMap, statistic: Stats.SUM })
}

function requestsOf(dimensionsMap: Record<string, string>): Metric {
  return metric('AWS/ApiGateway', 'Count', { dimensionsMap, statistic: Stats.SAMPLE_COUNT })
}

function apiOf({ api, stage }: Watched): Record<string, string> {
  return { ApiName: api.restApiName, Stage: stage.name }
}

function gatewayOf(route: Route, watched: Watched): Record<string, string> {
  return { ...apiOf(watched), Method: route.method, Resource: gatewayPathOf(route, watched.settings) }
}
