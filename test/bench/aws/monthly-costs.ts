import type { Template } from '#test/infrastructure/synthesis.ts'
import { prices } from './prices.ts'
import { assumed, basicCosts, type MeasuredRequest, tableCosts } from './request-costs.ts'

/** The full backups that exist at the same time: one for each run of a rule within its retention. */
export function backupsKept(stacks: Readonly<Record<string, Template>>): number {
  return Object.values(stacks)
    .flatMap(({ Resources }) => Object.values(Resources))
    .filter(({ Type }) => Type === 'AWS::Backup::BackupPlan')
    .flatMap(({ Properties }) => Properties.BackupPlan.BackupPlanRule)
    .reduce((sum, { ScheduleExpression, Lifecycle }) => {
      const daysBetween = /^cron\(\S+ \S+ \? \* \w{3} \*\)$/.test(ScheduleExpression) ? 7 : 1
      return sum + Math.ceil(Lifecycle.DeleteAfterDays / daysBetween)
    }, 0)
}

/** What a stage keeps, and what it does beside each request. */
interface KeptData {
  backups: number
  logDays: number
  archiveDays: number
  months: number
  traced: number
}

/**
 * USD a month of the requests of the bus to the stage's own key, at worst: AWS does not document how often the bus asks. At
 * best it asks for none.
 */
export function worstKeyCosts(millions: number): number {
  return millions * assumed.orderEvents * 2 * prices.keyRequest.usd
}

/**
 * USD a month that depend on orders, for millions of orders a month.
 * @param months how long orders were placed at this rate: all of them are stored
 * @param traced the share of the requests that are traced
 */
export function costsOfOrders(
  millions: number,
  order: MeasuredRequest,
  { backups, logDays, archiveDays, months, traced }: KeptData,
): Record<string, number> {
  const gigabytes = millions * months * assumed.orderKilobytes
  const events = millions * assumed.orderEvents
  // One invocation of the relay for each order, which reads at worst each time which tenants have subscribers.
  const relayKilobytes = millions * assumed.runKilobytes
  const archived = events * assumed.eventKilobytes
  return {
    'Requests and the table’s units': millions * (sumOf(basicCosts(traced)) + tableCosts(order)),
    'Events, with the relay':
      events * (prices.event.usd + prices.lambdaCall.usd) + millions * prices.readUnit.usd,
    'Logs of the relay': relayKilobytes * prices.logIngested.usd,
    'Archive of the bus': archived * (prices.archived.usd + (archiveDays / 30) * prices.archiveStored.usd),
    'Stored logs': (millions * assumed.logKilobytes + relayKilobytes) * (logDays / 30) * prices.logStored.usd,
    'Stored table': gigabytes * prices.tableStored.usd,
    'Point-in-time recovery': gigabytes * prices.pointInTime.usd,
    [`Backups, ${backups} full copies`]: gigabytes * backups * prices.backupStored.usd,
  }
}

export function sumOf(costs: Readonly<Record<string, number>>): number {
  return Object.values(costs).reduce((sum, usd) => sum + usd, 0)
}
