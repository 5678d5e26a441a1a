import { functionOf, type RouteEntry } from '#functions/routes.ts'
import type { Route } from '#shared/platform/request/route.ts'
import { pascalCase } from '../function-entries.ts'
import {
  type AlarmDefinition,
  crashesInLog,
  type LogQuery,
  lastDeployment,
  ledger,
  rollback,
} from './alarm-definition.ts'
import * as measures from './request-measures.ts'

/**
 * The rates at which an error budget is used up. At 14.4 times its pace a month's budget is gone in two days, at 6
 * times in five. The short window ends the alarm soon after the failures end.
 */
const burnRates = [
  { rate: 'Fast', severity: 'page', times: 14.4, longMinutes: 60, shortMinutes: 5, urgency: 'Act now' },
  { rate: 'Slow', severity: 'ticket', times: 6, longMinutes: 360, shortMinutes: 30, urgency: 'Act today' },
] as const

/**
 * On a quiet day one failure is a large share of the requests. Fewer failures than this in the long window notify
 * nobody.
 */
const minFailures = 3

/** A p99 above this multiple of the p95 signals tail latency. */
export const tailRatio = 2.5

/** The condition of the requests that the alarms count: not those that failed because of their callers. */
const failedBy = 'and status >= 500 and not ispresent(caused_by_caller)'

/** The percentage of requests of an interactive route that may fail. */
const interactivePercent = 0.1

export function alarmsOfRoute(entry: RouteEntry): AlarmDefinition[] {
  return [...failureAlarms(entry), ...latencyAlarms(entry)]
}

/** Returns the alarms of failed requests: one for each burn rate of the route's error budget. */
function failureAlarms(entry: RouteEntry): AlarmDefinition[] {
  const { route } = entry
  const { operation, impact } = route
  const id = pascalCase(operation)
  const failing = {
    queries: [
      ...queriesOf(entry, [
        `${failedBy} | stats count(*) by error_code, fault.name, fault.at.0`,
        `${failedBy} | fields @timestamp, correlation_id, error_code | sort @timestamp desc`,
      ]),
      // The alarms count them as well.
      crashesInLog(functionOf(entry).name),
    ],
    commands: [...commandsOn(route), rollback],
  }
  // Only webhooks have no error budget: no user waits, and senders retry.
  if (route.auth === 'signature') {
    return [
      {
        id: `${id}Failing`,
        severity: 'page',
        impact,
        act: `Find out which error codes it returns, or why it crashes. ${remedyOf(route)}`,
        ...failing,
        thresholds: [{ measure: measures.failedRequests(route), above: 2 }],
      },
    ]
  }
  const budget = route.errorBudgetPercent ?? interactivePercent
  return burnRates.map(({ rate, severity, times, longMinutes, shortMinutes, urgency }) => {
    const above = Number((times * budget).toFixed(4))
    const long = measures.failureShare(route, { minutes: longMinutes, fewest: minFailures })
    const short = measures.failureShare(route, { minutes: shortMinutes, fewest: 1 })
    return {
      id: `${id}Burns${rate}`,
      severity,
      impact: `${impact} Failures use up the error budget of ${budget} % more than ${times} times as fast as it allows.`,
      act: `${urgency}: find out which error codes it returns, or why it crashes. ${remedyOf(route)}`,
      ...failing,
      thresholds: [
        { window: 'Long', measure: long, above },
        { window: 'Short', measure: short, above },
      ],
    }
  })
}

/** Returns the alarms of slow requests: one for each latency budget of the route, and one for its tail latency. */
function latencyAlarms(entry: RouteEntry): AlarmDefinition[] {
  const { route } = entry
  const id = pascalCase(route.operation)
  const slow = {
    severity: 'ticket' as const,
    act: 'Find out from the traces whether the table, an external service or cold starts take the time.',
    queries: queriesOf(entry, [
      '| fields @timestamp, duration_milliseconds, correlation_id | sort duration_milliseconds desc',
    ]),
  }
  const ofBudgets = ([95, 99] as const).flatMap((percentile): AlarmDefinition[] => {
    const limit = route.latency?.[`p${percentile}`]
    if (limit === undefined) return []
    return [
      {
        id: `${id}${percentile === 99 ? 'Slow' : 'OftenSlow'}`,
        impact: `${route.summary}: ${100 - percentile} % of requests take longer than the latency budget of ${limit} ms.`,
        ...slow,
        thresholds: [{ measure: measures.latencyOf(route, percentile), above: limit, periods: 3 }],
      },
    ]
  })
  const ofTail: AlarmDefinition = {
    id: `${id}Tail`,
    impact: `${route.summary}: the slowest requests take more than ${tailRatio} times as long as most.`,
    ...slow,
    thresholds: [{ measure: measures.tailOf(route), above: tailRatio, periods: 3 }],
  }
  return [...ofBudgets, ofTail]
}

function queriesOf(entry: RouteEntry, conditions: readonly string[]): LogQuery[] {
  const group = `${pascalCase(functionOf(entry).name)}Log`
  const { operation } = entry.route
  return conditions.map((text) => ({ group, query: `filter operation = "${operation}" ${text}` }))
}

/** Returns the remedy for a failing route, by the resources that it uses. */
function remedyOf({ uses }: Route): string {
  if (uses.includes('secret.payments')) {
    return `Check the status of the payment provider. Pay nothing back by hand: the service finishes pending refunds. ${lastDeployment}`
  }
  if (uses.includes('pool.client')) return `Check the health of Cognito. ${lastDeployment}`
  return `Check whether DynamoDB throttles or is unavailable. ${lastDeployment}`
}

function commandsOn({ uses, auth }: Route): string[] {
  return [
    ...(uses.includes('secret.payments') ? [ledger] : []),
    ...(auth === 'signature' ? ['npx commerce dead-letters redrive webhooks --stack STACK'] : []),
    ...(auth === 'bearer' ? ['npx commerce audit list --tenant T --stack STACK'] : []),
  ]
}
