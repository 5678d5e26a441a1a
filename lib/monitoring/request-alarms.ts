import { functionOf, type RouteEntry, routes } from '#functions/routes.ts'
import { alarmGroupOf, type Route } from '#shared/platform/request/route.ts'
import { corsPreflight, pascalCase } from '../functions/function-names.ts'
import {
  type AlarmDefinition,
  duringFreeze,
  type Look,
  lastDeployment,
  ledger,
  rollback,
  savedFor,
} from './alarm-definition.ts'
import { sharedGraphs } from './measures.ts'
import * as measures from './request-measures.ts'
import { crashes, errorsByCode, failedRequests, slowRequests } from './saved-queries.ts'

/** A p99 above this multiple of the p95 signals tail latency. */
const tailRatio = 2.5

/** The percentage of requests of an interactive route that may fail. */
const interactivePercent = 0.1

/**
 * The pace at which a route may use its error budget: six times as fast, the budget of a month is gone in five days. The
 * hour shows a route that fails wholly with its third failure, and one that fails 1 % of its requests within 36 minutes.
 */
const ofRoute = { times: 6, window: { minutes: 60, fewest: 3 } }

/** A route with one request in a hundred of its area that fails wholly reaches the limit within three minutes. */
const ofArea = { percent: 0.15, window: { minutes: 15, fewest: 3 } }

/** The alarm of an outage of the whole API. */
const apiFailing: AlarmDefinition = {
  id: 'ApiFailing',
  impact: 'More than 5 % of all requests fail.',
  act: `${duringFreeze} find out which routes fail and with which error codes. Read https://health.aws.amazon.com/health/status for DynamoDB, Lambda and API Gateway: it needs no support plan. ${lastDeployment} Alarms of routes and areas follow it; they end with it.`,
  queries: [savedFor(failedRequests), savedFor(crashes)],
  fixes: [rollback],
  threshold: { measure: measures.failureShareOfApi(5), above: 5 },
}

/** A function that does not start, crashes or cannot be invoked counts nothing itself. */
const requestsUnanswered: AlarmDefinition = {
  id: 'RequestsUnanswered',
  impact: `Functions behind the gateway crash or do not start: callers get a 5xx of the gateway. ${corsPreflight.name}: ${corsPreflight.impact}`,
  act: `${duringFreeze} find out which functions crash. A route with few requests can be among them. ${lastDeployment}`,
  queries: [savedFor(crashes)],
  fixes: [rollback],
  threshold: { measure: measures.unansweredShare(ofArea.window), above: ofArea.percent },
}

/** Functions that serve the callers of an area beside its routes. */
const furtherFunctions: Readonly<Record<string, readonly string[]>> = {
  // The user pool invokes it for logins, and for renewals that do not pass through the API.
  login: ['login.add-claims'],
}

/** One alarm for each route with a latency budget, and one for the other routes of each area. */
export const requestAlarms: readonly AlarmDefinition[] = [
  apiFailing,
  ...[...Map.groupBy(routes, ({ route }) => alarmGroupOf(route))].map(([watched, entries]) => {
    const [first] = entries
    return first?.route.latency ? alarmOfRoute(first) : alarmOfArea(watched, entries)
  }),
  requestsUnanswered,
]

function alarmOfRoute(entry: RouteEntry): AlarmDefinition {
  const { route } = entry
  const { operation, impact } = route
  const budget = route.errorBudgetPercent ?? interactivePercent
  const { times, window } = ofRoute
  return {
    id: `${pascalCase(operation)}Failing`,
    impact: `${impact} Failures use up the error budget of ${budget} % more than ${times} times as fast as it allows.`,
    act: `Find out which error codes it returns, or why it crashes. ${remedyOf([route])}`,
    queries: queriesOf(operation, functionOf(entry).name),
    commands: commandsOn([route]),
    fixes: fixesOf([route]),
    threshold: {
      measure: measures.failureShare(route, window),
      above: Number((times * budget).toFixed(4)),
    },
  }
}

function alarmOfArea(area: string, entries: readonly RouteEntry[]): AlarmDefinition {
  const all = entries.map(({ route }) => route)
  const measure = measures.failureShareOfArea(area, ofArea.window, {
    operations: all.map(({ operation }) => operation),
    further: furtherFunctions[area] ?? [],
  })
  return {
    id: `${pascalCase(area)}Failing`,
    impact: `Requests of the area ${area} fail: ${all.map(({ operation }) => operation).join(', ')}.`,
    act: `The query names the operation that fails and its error codes. ${remedyOf(all)}`,
    queries: queriesOf(area),
    commands: commandsOn(all),
    fixes: fixesOf(all),
    threshold: { measure, above: ofArea.percent },
  }
}

/** The query names the route, and a second one the crashes, which functions do not log themselves. */
function queriesOf(watched: string, functionName?: string) {
  const ofOne = functionName && `filter @log like /${pascalCase(functionName)}Log/`
  return [savedFor(failedRequests, `filter watched = "${watched}"`), savedFor(crashes, ofOne)]
}

/** Returns the remedy for failing routes, by the resources that they use. */
function remedyOf(all: readonly Route[]): string {
  const use = (name: string) => all.some(({ uses }) => uses.some((one) => one === name))
  if (use('secret.payments'))
    return `Check the status of the payment provider. Pay nothing back by hand: the service finishes pending refunds. ${lastDeployment}`
  if (use('pool.client')) return `Check the health of Cognito. ${lastDeployment}`
  return `Check whether DynamoDB throttles or is unavailable. ${lastDeployment}`
}

function commandsOn(all: readonly Route[]): string[] {
  const some = (test: (route: Route) => boolean, command: string) => (all.some(test) ? [command] : [])
  return [
    ...some(({ uses }) => uses.includes('secret.payments'), ledger),
    ...some(({ auth }) => auth === 'signature', 'npx commerce dead-letters list webhooks --stack STACK'),
    ...some(({ auth }) => auth === 'bearer', 'npx commerce audit list --tenant T --from 1h --stack STACK'),
  ]
}

function fixesOf(all: readonly Route[]): string[] {
  const redrive = 'npx commerce dead-letters redrive webhooks --stack STACK'
  return [rollback, ...(all.some(({ auth }) => auth === 'signature') ? [redrive] : [])]
}

/** The latency of requests, and the errors that no alarm counts. */
export const requestLooks: readonly Look[] = [
  ...routes.flatMap(({ route }): Look[] =>
    route.latency
      ? [
          {
            id: `${pascalCase(route.operation)}Slow`,
            impact: `${route.summary}: more than 5 % of requests take longer than ${route.latency.p95} ms, 1 % longer than ${route.latency.p99} ms, or the p99 is above ${tailRatio} times the p95.`,
            act: 'Find out from the traces whether the table, an external service or cold starts take the time.',
            queries: [savedFor(slowRequests, `filter operation = "${route.operation}"`)],
            graph: measures.latencyGraph(route),
          },
        ]
      : [],
  ),
  {
    id: 'OtherRoutesSlow',
    impact: `The p99 of a route without a latency budget is above ${tailRatio} times its p95.`,
    act: 'Find out from the traces whether the table, an external service or cold starts take the time.',
    queries: [savedFor(slowRequests)],
    graph: sharedGraphs.latency,
    shows: [measures.latencyOfApi],
  },
  {
    id: 'ErrorsByCode',
    impact: 'Callers get more errors than on other days, or errors of other codes.',
    act: 'Find out which callers get them: `stats` by tenant instead of operation.',
    queries: [savedFor(errorsByCode)],
    graph: errorsByCode.title,
  },
]
