import { routes } from '#functions/routes.ts'
import { errorCatalog } from '#shared/error-catalog.ts'
import { receivedEvents } from '#shared/webhooks/received-events.ts'
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

/** The ages of unfinished imports, refunds, refunds that the provider has not settled, and deliveries. */
const ageMetrics = 4
/** The ignored events of each type with a handler, and of all others. */
const ignoredMetrics = receivedEvents.length + 1
/** The failed requests of each operation, of all together, and those that the gateway could not pass on. */
const failedRequestMetrics = routes.length + 2
/** The alerts, by code. */
const alertMetrics = 4
/** The minutes of a month. */
export const minutesOfMonth = 43_800
/** The differences between the ledger and the payment provider. */
const differenceMetrics = 1
/** The successful probes. */
const probeMetrics = 1

/** The fixed costs of a stage, counted in its templates as AWS bills them. */
export function fixedCosts(stacks: Readonly<Record<string, Template>>): FixedCost[] {
  const resources = Object.values(stacks).flatMap(({ Resources }) => Object.values(Resources))
  const of = (type: string) => resources.filter(({ Type }) => Type === type)
  const rules = of('AWS::WAFv2::WebACL').flatMap(({ Properties }) => Properties.Rules)
  const methods = of('AWS::ApiGateway::Stage').flatMap(({ Properties }) =>
    Properties.MethodSettings.filter((one: { MetricsEnabled: boolean }) => one.MetricsEnabled),
  )
  const alarmMetrics = of('AWS::CloudWatch::Alarm').reduce((sum, alarm) => sum + metricsOfAlarm(alarm), 0)
  return [
    { what: 'Metrics that alarms read', count: alarmMetrics, price: prices.alarmMetric },
    {
      what: 'Composite alarms',
      count: of('AWS::CloudWatch::CompositeAlarm').length,
      price: prices.compositeAlarm,
    },
    {
      what: `Metrics of ${methods.length} methods at the gateway`,
      count: methods.length * metricsOfMethod.length,
      price: prices.customMetric,
    },
    {
      what: 'Failures of functions and operations, if all of them fail in a month',
      count: of('AWS::Lambda::Function').length + failedRequestMetrics,
      price: prices.customMetric,
    },
    {
      what: 'Errors and alerts by code and ignored events by type, if all occur in a month, ages of unfinished work, differences from the payment provider, and successful probes',
      count:
        Object.keys(errorCatalog).length +
        ignoredMetrics +
        alertMetrics +
        ageMetrics +
        differenceMetrics +
        probeMetrics,
      price: prices.customMetric,
    },
    { what: 'Dashboards', count: of('AWS::CloudWatch::Dashboard').length, price: prices.dashboard },
    { what: 'Web ACLs', count: of('AWS::WAFv2::WebACL').length, price: prices.webAcl },
    { what: 'Rules of web ACLs, managed groups included', count: rules.length, price: prices.webAclRule },
    { what: 'Secrets', count: of('AWS::SecretsManager::Secret').length, price: prices.secret },
    {
      what: 'Functions that run each minute',
      count: of('AWS::Scheduler::Schedule').filter(
        ({ Properties }) => Properties.ScheduleExpression === 'rate(1 minute)',
      ).length,
      price: {
        ...prices.scheduledCall,
        usd: (minutesOfMonth / 1e6) * (prices.scheduledCall.usd + lambdaCosts()),
      },
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

/** An alarm on an expression is billed for each metric in it. */
function metricsOfAlarm({ Properties }: Resource): number {
  if (Properties.Metrics === undefined) return 1
  return Properties.Metrics.filter((one: { MetricStat?: unknown }) => one.MetricStat).length
}

/** The days for which each log group keeps its lines. */
export function daysOfLogs(stacks: Readonly<Record<string, Template>>): number[] {
  return Object.values(stacks)
    .flatMap(({ Resources }) => Object.values(Resources))
    .filter(({ Type }) => Type === 'AWS::Logs::LogGroup')
    .map(({ Properties }): number => Properties.RetentionInDays)
}

/** The stored data and their retention, in words. */
export function retention(stacks: Readonly<Record<string, Template>>): string[] {
  const resources = Object.values(stacks).flatMap(({ Resources }) => Object.values(Resources))
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
