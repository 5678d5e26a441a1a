import { type RouteEntry, routes } from '#functions/routes.ts'
import { type StepEntry, steps } from '#functions/steps.ts'
import { type Subscription, subscriptions } from '#functions/subscriptions.ts'
import type { Route } from '#shared/platform/http/route.ts'
import type { Work } from '#shared/platform/logging/embedded-metric.ts'
import { type Advice, adviceOnConsumer, adviceOnRoute, adviceOnStep, logAdvice } from './alarm-advice.ts'
import { preflight } from './function-entries.ts'
import { pascalCase } from './service-function.ts'

/** What an alarm goes by. Functions, queues and streams are named by the operation, subscription or step they serve. */
export type Measure =
  /** Answers with 5xx and calls that came to no answer, in five minutes. */
  | { of: 'failed requests'; route: Route }
  /** Milliseconds at the gateway. */
  | { of: 'latency'; route: Route; percentile: 95 | 99 }
  /** 5xx in a hundred requests of so many minutes; 0 where there were fewer failures than `fewest`. */
  | { of: 'failures in a hundred requests'; route: Route; minutes: number; fewest: number }
  | { of: 'errors of the function'; name: string }
  | { of: 'messages in the dead-letter queue'; name: string }
  /** Milliseconds. */
  | { of: 'age of the oldest change'; name: string }
  | { of: 'runs that ended badly' }
  /** Seconds. */
  | { of: 'age of the oldest unfinished'; work: Work }

/** When a measure counts as too much: above `above`, for so many periods on end. */
export interface Threshold {
  measure: Measure
  above: number
  periods: number
}

/** One window of a burn rate: it goes off in silence, and the alarm that it is a part of tells people. */
export interface Window extends Threshold {
  id: string
}

/** An alarm that tells people: of one measure, or of windows that all have gone off. */
export type AlarmDefinition = Advice & {
  /** In PascalCase; the alarm is called so, with the word Alarm after it. */
  id: string
  /** What people lose, in a sentence. */
  breaks: string
} & ({ threshold: Threshold; windows?: undefined } | { windows: readonly Window[]; threshold?: undefined })

/**
 * How fast an error budget is used up: at 14.4 times its pace a month's budget is gone in two days, at 6 times in five.
 * The short window ends the alarm soon after the failures end.
 */
export const burnRates = [
  { id: 'Fast', times: 14.4, longMinutes: 60, shortMinutes: 5 },
  { id: 'Slow', times: 6, longMinutes: 360, shortMinutes: 30 },
] as const

/** On a quiet day one failure is a large share of the requests: so few in the long window call nobody. */
const fewestFailures = 3

/** Every alarm of a stage that raises them, and of the runbook. */
export const alarmDefinitions: readonly AlarmDefinition[] = [
  ...routes.flatMap(alarmsOfRoute),
  {
    id: `${pascalCase(preflight.name)}Failing`,
    breaks: preflight.breaks,
    ...logAdvice(
      preflight.name,
      'Read what it fails with; if it began with a deployment, deploy the one before.',
    ),
    threshold: { measure: { of: 'errors of the function', name: preflight.name }, above: 2, periods: 1 },
  },
  ...subscriptions.flatMap(alarmsOfConsumer),
  ...steps.map(alarmOfStep),
  {
    id: 'RefundsPendingLong',
    breaks: 'A refund has been pending for a quarter of an hour: nobody knows yet whether it was paid.',
    ...logAdvice(
      'intents.finish',
      'See what keeps it, and ask the payment provider for its status. Pay nothing back by hand: it is finished by itself once the provider answers.',
      ['npm run -s ledger -- --tenant T --stack STACK'],
    ),
    threshold: { measure: { of: 'age of the oldest unfinished', work: 'refunds' }, above: 900, periods: 1 },
  },
  {
    id: 'ImportsRunningLong',
    breaks: 'An import has been under way for an hour.',
    ...logAdvice(
      'operations.end-abandoned',
      'See in the run’s history what takes the time; its owner can cancel it, and it ends by itself after two hours and a quarter.',
      ['aws stepfunctions list-executions --state-machine-arn ARN --status-filter RUNNING'],
    ),
    threshold: { measure: { of: 'age of the oldest unfinished', work: 'imports' }, above: 3600, periods: 1 },
  },
  {
    id: 'ImportMachineFailing',
    breaks: 'An import did not come to its end by itself; it is ended within a minute.',
    act: 'Read in the run’s history which step failed; whoever sent the file may send it again.',
    queries: [],
    commands: [
      'aws stepfunctions list-executions --state-machine-arn ARN --status-filter FAILED',
      'aws stepfunctions get-execution-history --execution-arn ARN --reverse-order',
    ],
    threshold: { measure: { of: 'runs that ended badly' }, above: 0, periods: 1 },
  },
]

function alarmsOfRoute(entry: RouteEntry): AlarmDefinition[] {
  const { route } = entry
  const id = pascalCase(route.operation)
  const advice = adviceOnRoute(entry)
  const failing: AlarmDefinition = {
    id: `${id}Failing`,
    breaks: route.breaks,
    ...advice.failing,
    threshold: { measure: { of: 'failed requests', route }, above: 2, periods: 1 },
  }
  const slow = ([95, 99] as const).flatMap((percentile): AlarmDefinition[] => {
    const budget = route.latency?.[`p${percentile}`]
    if (budget === undefined) return []
    const part = percentile === 99 ? 'one request in a hundred' : 'one request in twenty'
    return [
      {
        id: `${id}${percentile === 99 ? 'Slow' : 'OftenSlow'}`,
        breaks: `${route.summary}: ${part} takes longer than its budget of ${budget} ms.`,
        ...advice.slow,
        threshold: { measure: { of: 'latency', route, percentile }, above: budget, periods: 3 },
      },
    ]
  })
  return [failing, ...slow, ...budgetAlarms(entry)]
}

function budgetAlarms(entry: RouteEntry): AlarmDefinition[] {
  const { route } = entry
  const { errorBudgetPercent: budget } = route
  if (budget === undefined) return []
  const id = pascalCase(route.operation)
  return burnRates.map((rate) => {
    const window = (name: string, minutes: number, fewest: number): Window => ({
      id: `${id}Burns${rate.id}${name}`,
      measure: { of: 'failures in a hundred requests', route, minutes, fewest },
      above: Number((rate.times * budget).toFixed(4)),
      periods: 1,
    })
    return {
      id: `${id}Burns${rate.id}`,
      breaks: `${route.summary}: failures use up its error budget of ${budget} % at more than ${rate.times} times the pace it allows.`,
      ...adviceOnRoute(entry).burning[rate.id],
      windows: [window('Long', rate.longMinutes, fewestFailures), window('Short', rate.shortMinutes, 1)],
    }
  })
}

function alarmsOfConsumer(subscription: Subscription): AlarmDefinition[] {
  const { name, source, breaks } = subscription
  const id = pascalCase(name)
  const advice = adviceOnConsumer(subscription)
  const failing: AlarmDefinition = {
    id: `${id}Failing`,
    breaks,
    ...advice.failing,
    threshold: { measure: { of: 'errors of the function', name }, above: 0, periods: 1 },
  }
  if (typeof source === 'string') return [failing]
  const givenUp: AlarmDefinition = {
    id: `${id}DeadLettersPresent`,
    breaks: `${name} gave up on something.`,
    ...advice.givenUp,
    threshold: { measure: { of: 'messages in the dead-letter queue', name }, above: 0, periods: 1 },
  }
  if ('queue' in source) return [failing, givenUp]
  // A batch that it reports as failed is no error of the function: its changes wait, and that shows here.
  const late: AlarmDefinition = {
    id: `${id}Late`,
    breaks: `${breaks} Changes have been waiting for more than a minute.`,
    ...advice.failing,
    threshold: { measure: { of: 'age of the oldest change', name }, above: 60_000, periods: 1 },
  }
  return [failing, givenUp, late]
}

function alarmOfStep(entry: StepEntry): AlarmDefinition {
  const { name, breaks } = entry
  // A step is tried again, and one failure is no loss.
  const threshold: Threshold = { measure: { of: 'errors of the function', name }, above: 2, periods: 1 }
  return { id: `${pascalCase(name)}Failing`, breaks, ...adviceOnStep(entry), threshold }
}
