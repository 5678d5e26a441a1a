import { Stats } from 'aws-cdk-lib/aws-cloudwatch'
import { liveAlias } from '../functions/function-names.ts'
import { takenExecutions } from '../functions/provisioned-concurrency.ts'
import type { Measure } from './measure.ts'
import { longest, sharedGraphs } from './measures.ts'
import { functionNamed, math, metric, sumOf } from './metrics.ts'

/**
 * The share of the executions without a reservation that are in use. The quota is the setting limits.concurrency.
 * https://docs.aws.amazon.com/lambda/latest/dg/monitoring-concurrency.html
 */
export const usedConcurrency: Measure = {
  text: 'the percentage of the unreserved concurrent executions that are in use',
  graph: sharedGraphs.concurrency,
  label: 'unreserved executions in use (%)',
  metric: ({ stage, settings }) => {
    const { reserved, provisioned } = takenExecutions(stage, settings)
    const inUse = metric('AWS/Lambda', 'UnreservedConcurrentExecutions', longest)
    return math({
      label: 'unreserved executions in use (%)',
      expression: `100 * unreserved / ${settings['limits.concurrency'] - reserved - provisioned}`,
      usingMetrics: { unreserved: inUse },
    })
  },
}

/**
 * The calls that found no free execution among those that are kept ready, and met a cold start if no other was idle.
 * https://docs.aws.amazon.com/lambda/latest/dg/monitoring-concurrency.html
 */
export const spilledCalls: Measure = {
  text: 'calls beyond the provisioned concurrency of their function in five minutes',
  graph: sharedGraphs.spillover,
  label: 'calls beyond provisioned concurrency',
  metric: ({ settings, functions }) => {
    const operations = Object.keys(settings['limits.provisionedConcurrency'])
    const handlers = new Set(operations.map((operation) => functionNamed(functions, operation)))
    if (handlers.size === 0) return undefined
    const calls = [...handlers].map(({ functionName: FunctionName }) => {
      return metric('AWS/Lambda', 'ProvisionedConcurrencySpilloverInvocations', {
        dimensionsMap: { FunctionName, Resource: `${FunctionName}:${liveAlias}` },
        statistic: Stats.SUM,
      })
    })
    return sumOf('s', 'calls beyond provisioned concurrency', calls)
  },
}
