import * as apigateway from 'aws-cdk-lib/aws-apigateway'
import { FilterPattern, type LogGroup } from 'aws-cdk-lib/aws-logs'
import { gatewayPathOf, methodsOf } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import type { EndpointFunction } from '../functions/endpoint-functions.ts'
import { unknownRoute } from '../functions/function-names.ts'
import { unansweredMetric } from '../monitoring/request-measures.ts'
import { hasAlarms, metricsNamespace, type Stage } from '../stage.ts'

interface StageOptionsProps {
  stage: Stage
  settings: Settings
  endpoints: readonly EndpointFunction[]
  accessLog: LogGroup
}

/** Returns the options of the gateway's stage: throttles, metrics, tracing and the access log. */
export function stageOptions({
  stage,
  settings,
  endpoints,
  accessLog,
}: StageOptionsProps): apigateway.StageOptions {
  if (hasAlarms(stage, settings)) countUnanswered(accessLog, stage)
  return {
    stageName: stage.name,
    // A trace has the address of the caller and the URL with its query, so only the policy for emergencies reads traces.
    tracingEnabled: true,
    ...methodOptions(settings['limits.gateway']),
    methodOptions: { ...optionsByMethod(endpoints, settings, stage), ...optionsOfUnknownRoutes(stage) },
    accessLogDestination: new apigateway.LogGroupLogDestination(accessLog),
    accessLogFormat: apigateway.AccessLogFormat.custom(JSON.stringify(accessLine)),
  }
}

type MethodLimits = Pick<Settings['limits.gateway'], 'requestsPerSecond' | 'burst'>

/** Returns the options of a method. They replace the shared options, so these are repeated for each method. */
function methodOptions({ requestsPerSecond, burst }: MethodLimits): apigateway.MethodDeploymentOptions {
  return {
    throttlingRateLimit: requestsPerSecond,
    throttlingBurstLimit: burst,
    metricsEnabled: false,
    loggingLevel: apigateway.MethodLoggingLevel.ERROR,
    // Data traces would write bodies and tokens to the log.
    dataTraceEnabled: false,
  }
}

/**
 * Returns the options of methods with metrics or their own throttle: `{"/v1/orders/POST": …}`. Metrics of a method cost
 * money, so only methods that alarms read have them: those of routes with a latency budget.
 */
function optionsByMethod(
  endpoints: readonly EndpointFunction[],
  settings: Settings,
  stage: Stage,
): Record<string, apigateway.MethodDeploymentOptions> {
  const { byOperation, ...throttleOfAll } = settings['limits.gateway']
  const named = endpoints.flatMap(({ route }) => {
    const throttle = byOperation[route.operation]
    const isMeasured = hasAlarms(stage, settings) && route.latency !== undefined
    if (!throttle && !isMeasured) return []
    const path = gatewayPathOf(route, settings)
    return methodsOf(route).map((method) => {
      const metricsEnabled = isMeasured && method === route.method
      return [`${path}/${method}`, { ...methodOptions(throttle ?? throttleOfAll), metricsEnabled }] as const
    })
  })
  return Object.fromEntries(named)
}

/**
 * Returns the throttle of requests that no endpoint takes: as many a second as their function has slots. Excess requests
 * get 429, not a 5xx that would raise alarms. The gateway accepts no options for ANY.
 */
function optionsOfUnknownRoutes({ concurrency }: Stage): Record<string, apigateway.MethodDeploymentOptions> {
  const slots = concurrency?.[unknownRoute.name]
  if (slots === undefined) return {}
  const options = methodOptions({ requestsPerSecond: slots, burst: slots })
  const methods = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT']
  return Object.fromEntries(
    ['//', '/{proxy+}/'].flatMap((path) => methods.map((method) => [`${path}${method}`, options])),
  )
}

/**
 * One log line for each request. Its only data of the caller is the address, which the log masks: reading it needs
 * `logs:Unmask`. It has no header and no path with ids.
 */
const accessLine = {
  sourceIp: '$context.identity.sourceIp',
  requestId: '$context.requestId',
  method: '$context.httpMethod',
  route: '$context.resourcePath',
  status: '$context.status',
  latency: '$context.responseLatency',
  integrationLatency: '$context.integrationLatency',
  gatewayError: '$context.error.responseType',
  xrayTraceId: '$context.xrayTraceId',
}

/**
 * Counts the 5xx responses that the gateway made itself, because a function did not start, crashed or could not be
 * invoked. A function counts its own.
 */
function countUnanswered(accessLog: LogGroup, stage: Stage): void {
  accessLog.addMetricFilter('Unanswered', {
    // The gateway writes `-` for a variable without a value.
    filterPattern: FilterPattern.literal('{ $.status = "5*" && $.gatewayError != "-" }'),
    metricNamespace: metricsNamespace(stage),
    metricName: unansweredMetric,
    metricValue: '1',
  })
}
