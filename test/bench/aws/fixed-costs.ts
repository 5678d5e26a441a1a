import { functionOf, routes } from '#functions/routes.ts'
import { alarmGroupOf } from '#shared/platform/request/route.ts'
import { pendingPartitionsOf, pendingWork } from '#shared/platform/table/keys.ts'
import type { Resource, Template } from '#test/infrastructure/synthesis.ts'
import { type Price, prices } from './prices.ts'
import { assumed, lambdaCosts } from './request-costs.ts'

/** The monthly costs of a stack without requests. */
interface FixedCost {
  what: string
  count: number
  price: Price
}

/** The metrics that API Gateway counts for a method without a cache. */
const metricsOfMethod = ['Count', 'Latency', 'IntegrationLatency', '4XXError', '5XXError']

/**
 * The metrics of the service, if all of them occur in a month: failed requests by what an alarm watches, all together, and
 * those that the gateway could not pass on; failures of the versions of functions behind the gateway, with preflight and
 * unknown routes; alerts by code; ages of pending work; differences from the payment provider; successful probes.
 */
const metricsOfService =
  new Set(routes.map(({ route }) => alarmGroupOf(route))).size +
  2 +
  (new Set(routes.map((entry) => functionOf(entry).name)).size + 2) +
  4 +
  4 +
  1 +
  1
/** The minutes of a month. */
const unfinishedWork = pendingWork.filter((work) => work !== 'registered-subscriber')
export const minutesOfMonth = 43_800
/** The polls of an idle queue in a minute: Lambda keeps five, of 20 seconds each. */
const pollsOfMinute = 15

type Stacks = Readonly<Record<string, Template>>

/** The fixed costs of a stage, counted in its templates as AWS bills them. */
export function fixedCosts(stacks: Stacks): FixedCost[] {
  const of = (type: string) => resourcesOf(stacks).filter(({ Type }) => Type === type)
  const rules = of('AWS::WAFv2::WebACL').flatMap(({ Properties }) => Properties.Rules)
  const methods = of('AWS::ApiGateway::Stage').flatMap(({ Properties }) =>
    Properties.MethodSettings.filter((one: { MetricsEnabled: boolean }) => one.MetricsEnabled),
  )
  const schedules = of('AWS::Scheduler::Schedule').filter(
    ({ Properties }) => Properties.ScheduleExpression === 'rate(1 minute)',
  )
  const mappings = of('AWS::Lambda::EventSourceMapping')
  const isMeasured = of('AWS::Lambda::Function').some(
    ({ Properties }) => Properties.Environment?.Variables.METRICS_NAMESPACE !== undefined,
  )
  return [
    {
      what: 'Metrics of alarms',
      count: of('AWS::CloudWatch::Alarm').reduce((sum, alarm) => sum + metricsOfAlarm(alarm), 0),
      price: prices.alarmMetric,
    },
    {
      what: 'Composite alarms',
      count: of('AWS::CloudWatch::CompositeAlarm').length,
      price: prices.compositeAlarm,
    },
    {
      what: 'Metrics of methods at the gateway',
      count: methods.length * metricsOfMethod.length,
      price: prices.customMetric,
    },
    {
      what: 'Metrics of the service, if all of them occur in a month',
      count: isMeasured ? metricsOfService : 0,
      price: prices.customMetric,
    },
    { what: 'Dashboards', count: of('AWS::CloudWatch::Dashboard').length, price: prices.dashboard },
    { what: 'Web ACLs', count: of('AWS::WAFv2::WebACL').length, price: prices.webAcl },
    { what: 'Rules of web ACLs, managed groups included', count: rules.length, price: prices.webAclRule },
    { what: 'Secrets', count: of('AWS::SecretsManager::Secret').length, price: prices.secret },
    { what: 'Functions that run each minute, with their logs', count: schedules.length, price: runCosts() },
    {
      what: 'Units that they read each minute to find pending work, without any',
      // Without subscribers, their sweep reads only the list of tenants that have some.
      count: schedules.length > 0 ? unfinishedWork.flatMap(pendingPartitionsOf).length + 1 : 0,
      price: { ...prices.readUnit, usd: (minutesOfMonth / 1e6) * prices.readUnit.usd },
    },
    {
      what: 'Queues that functions poll',
      // Those of streams have a starting position, and their polls cost nothing.
      count: mappings.filter(({ Properties }) => Properties.StartingPosition === undefined).length,
      price: { ...prices.message, usd: (pollsOfMinute * minutesOfMonth * prices.message.usd) / 1e6 },
    },
    {
      what: 'Executions that `limits.provisionedConcurrency` keeps ready',
      count: of('AWS::Lambda::Alias').reduce(
        (sum, { Properties: { ProvisionedConcurrencyConfig: config } }) =>
          sum + (config?.ProvisionedConcurrentExecutions ?? 0),
        0,
      ),
      price: {
        ...prices.provisionedSecond,
        usd: minutesOfMonth * 60 * assumed.gigabytes * prices.provisionedSecond.usd,
      },
    },
    { what: 'KMS keys', count: of('AWS::KMS::Key').length, price: prices.key },
  ]
}

/** The sum of a month without a request. */
export function fixedTotal(stacks: Stacks): number {
  return fixedCosts(stacks).reduce((sum, { count, price }) => sum + count * price.usd, 0)
}

/** An alarm on an expression is billed for each metric in it. */
function metricsOfAlarm({ Properties }: Resource): number {
  if (Properties.Metrics === undefined) return 1
  return Properties.Metrics.filter((one: { MetricStat?: unknown }) => one.MetricStat).length
}

/** USD a month of a function that runs each minute. */
function runCosts(): Price {
  const logs = assumed.runKilobytes * prices.logIngested.usd
  return {
    ...prices.scheduledCall,
    usd: (minutesOfMonth / 1e6) * (prices.scheduledCall.usd + lambdaCosts() + logs),
  }
}

function resourcesOf(stacks: Stacks): Resource[] {
  return Object.values(stacks).flatMap(({ Resources }) => Object.values(Resources))
}

/** The share of the requests that are traced. */
export function tracedShare(stacks: Stacks): number {
  const [rule] = resourcesOf(stacks).filter(({ Type }) => Type === 'AWS::XRay::SamplingRule')
  return rule?.Properties.SamplingRule.FixedRate ?? 1
}

/** The days for which the archive of the bus keeps events. */
export function archiveDays(stacks: Stacks): number {
  const [archive] = resourcesOf(stacks).filter(({ Type }) => Type === 'AWS::Events::Archive')
  return archive?.Properties.RetentionDays ?? 0
}

/** The days for which each log group keeps its lines. */
export function daysOfLogs(stacks: Stacks): number[] {
  return resourcesOf(stacks)
    .filter(({ Type }) => Type === 'AWS::Logs::LogGroup')
    .map(({ Properties }): number => Properties.RetentionInDays)
}

/** The stored data and their retention, in words. */
export function retention(stacks: Stacks): string[] {
  const resources = resourcesOf(stacks)
  const days = daysOfLogs(stacks)
  const backups = resources
    .filter(({ Type }) => Type === 'AWS::Backup::BackupPlan')
    .flatMap(({ Properties }) => Properties.BackupPlan.BackupPlanRule)
  return [
    `${days.length} log groups keep their lines for ${[...new Set(days)].join(' or ')} days.`,
    ...backups.map(
      ({ RuleName, Lifecycle, CopyActions }) =>
        `The backups ‘${RuleName}’ are kept for ${Lifecycle.DeleteAfterDays} days, with ${CopyActions?.length ?? 0} copies elsewhere.`,
    ),
  ]
}
