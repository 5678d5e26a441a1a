import type { RouteEntry } from '#functions/routes.ts'
import type { Route } from '#shared/platform/request/route.ts'
import { adviceOnRoute } from './alarm-advice.ts'
import type { AlarmDefinition, Window } from './alarm-types.ts'
import { pascalCase } from './service-function.ts'

/**
 * The rates at which an error budget is used up. At 14.4 times its pace a month's budget is gone in two days, at 6
 * times in five. The short window ends the alarm soon after the failures end.
 */
export const burnRates = [
  { id: 'Fast', severity: 'page', times: 14.4, longMinutes: 60, shortMinutes: 5 },
  { id: 'Slow', severity: 'ticket', times: 6, longMinutes: 360, shortMinutes: 30 },
] as const

/**
 * On a quiet day one failure is a large share of the requests. Fewer failures than this in the long window notify
 * nobody.
 */
const fewestFailures = 3

/** A p99 above this multiple of the p95 signals tail latency. */
export const tailRatio = 2.5

/** With fewer requests in five minutes, the p99 is the latency of a single request. */
export const tailRequests = 100

const interactivePercent = 0.1

/** Returns the percentage of requests that may fail. Only webhooks have no budget: no user waits, and senders retry. */
export function errorBudgetOf({ errorBudgetPercent, auth }: Route): number | undefined {
  return auth === 'signature' ? undefined : (errorBudgetPercent ?? interactivePercent)
}

export function alarmsOfRoute(entry: RouteEntry): AlarmDefinition[] {
  return [...failureAlarms(entry), ...latencyAlarms(entry), tailAlarm(entry)]
}

function failureAlarms(entry: RouteEntry): AlarmDefinition[] {
  const { route } = entry
  const id = pascalCase(route.operation)
  const advice = adviceOnRoute(entry)
  const budget = errorBudgetOf(route)
  if (budget === undefined) {
    return [
      {
        id: `${id}Failing`,
        severity: 'page',
        breaks: route.impact,
        ...advice.failing,
        threshold: { measure: { of: 'failed requests', route }, above: 2, periods: 1 },
      },
    ]
  }
  return burnRates.map((rate) => {
    const window = (name: string, minutes: number, fewest: number): Window => ({
      id: `${id}Burns${rate.id}${name}`,
      measure: { of: 'failures in a hundred requests', route, minutes, fewest },
      above: Number((rate.times * budget).toFixed(4)),
      periods: 1,
    })
    return {
      id: `${id}Burns${rate.id}`,
      severity: rate.severity,
      breaks: `${route.impact} Failures use up the error budget of ${budget} % at more than ${rate.times} times the pace it allows.`,
      ...advice.burning[rate.id],
      windows: [window('Long', rate.longMinutes, fewestFailures), window('Short', rate.shortMinutes, 1)],
    }
  })
}

function latencyAlarms(entry: RouteEntry): AlarmDefinition[] {
  const { route } = entry
  return ([95, 99] as const).flatMap((percentile): AlarmDefinition[] => {
    const budget = route.latency?.[`p${percentile}`]
    if (budget === undefined) return []
    const part = percentile === 99 ? 'one request in a hundred' : 'one request in twenty'
    return [
      {
        id: `${pascalCase(route.operation)}${percentile === 99 ? 'Slow' : 'OftenSlow'}`,
        severity: 'ticket',
        breaks: `${route.summary}: ${part} takes longer than its budget of ${budget} ms.`,
        ...adviceOnRoute(entry).slow,
        threshold: { measure: { of: 'latency', route, percentile }, above: budget, periods: 3 },
      },
    ]
  })
}

function tailAlarm(entry: RouteEntry): AlarmDefinition {
  const { route } = entry
  return {
    id: `${pascalCase(route.operation)}Tail`,
    severity: 'ticket',
    breaks: `${route.summary}: the slowest requests take more than ${tailRatio} times as long as most.`,
    ...adviceOnRoute(entry).slow,
    threshold: { measure: { of: 'tail', route }, above: tailRatio, periods: 3 },
  }
}
