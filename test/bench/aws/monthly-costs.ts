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

/**
 * USD a month that depend on orders, for millions of orders a month.
 * @param months how long orders were placed at this rate: all of them are stored
 * @param lookup USD for looking for the subscribers of a million events
 */
export function costsOfOrders(
  millions: number,
  order: MeasuredRequest,
  { backups, logDays, months, lookup }: { backups: number; logDays: number; months: number; lookup: number },
): Record<string, number> {
  const gigabytes = millions * months * assumed.orderKilobytes
  return {
    'Requests and the table’s units': millions * (sumOf(basicCosts()) + tableCosts(order)),
    'Events, with the relay': millions * assumed.orderEvents * (prices.event.usd + prices.lambdaCall.usd),
    'Looking for subscribers of events, without any': millions * assumed.orderEvents * lookup,
    'Stored logs': millions * assumed.logKilobytes * (logDays / 30) * prices.logStored.usd,
    'Stored table': gigabytes * prices.tableStored.usd,
    'Point-in-time recovery': gigabytes * prices.pointInTime.usd,
    [`Backups, ${backups} full copies`]: gigabytes * backups * prices.backupStored.usd,
  }
}

export function sumOf(costs: Readonly<Record<string, number>>): number {
  return Object.values(costs).reduce((sum, usd) => sum + usd, 0)
}
