import { timestamp } from '../platform/base/clock.ts'
import { fail } from '../platform/base/failure.ts'
import type { WorkContext } from '../platform/request/context.ts'
import type { Settings } from '../settings/register.ts'
import type { ProviderRecords } from './provider-records.ts'
import { reconcile } from './reconcile.ts'
import { accountOf } from './refund.ts'

/** A message of the queue: the comparison of one tenant's refunds in a time range. */
export interface ReconcileTask {
  tenant: string
  from: string
  to: string
}

const dayMilliseconds = 24 * 3600 * 1000
/** No part is started with less time than this. */
const partMilliseconds = 12_000

/** The message of the schedule, which starts the comparison of all tenants. */
export const startMessage = '{}'
/** The number of messages that the queue accepts at once. */
const batchSize = 10

/**
 * Handles a message: that of the schedule becomes one for each tenant, and a range that takes longer than one message
 * may is continued by another. A repeated message compares again and changes nothing.
 * @param send sends at most ten messages, and returns for each whether it failed
 */
export async function reconcileMessage(
  body: string,
  context: Pick<WorkContext, 'settings' | 'table' | 'log' | 'budget' | 'now'>,
  queue: {
    openRecords(): Promise<ProviderRecords>
    send(messages: readonly { body: string; group: string }[]): Promise<boolean[]>
  },
): Promise<void> {
  const next =
    body === startMessage
      ? dailyTasks(context.settings, context.now())
      : await reconcileTask(JSON.parse(body), context, await queue.openRecords())
  for (let start = 0; start < next.length; start += batchSize) {
    const tasks = next.slice(start, start + batchSize)
    const messages = tasks.map((task) => ({ body: JSON.stringify(task), group: task.tenant }))
    if ((await queue.send(messages)).includes(true)) throw fail('DEPENDENCY.unavailable')
  }
}

/** Returns the tasks of a day: one for each tenant whose account the settings name. */
function dailyTasks(settings: Settings, now: number): ReconcileTask[] {
  const to = newestCompared(settings, now)
  const from = to - settings['refunds.reconcile'].days * dayMilliseconds
  return Object.keys(settings['refunds.account'].accounts).map((tenant) => ({
    tenant,
    from: timestamp(from),
    to: timestamp(to),
  }))
}

/**
 * Returns the end of the newest range that can be compared, in milliseconds since 1970. The outcomes of younger refunds
 * may be in progress.
 */
export function newestCompared(settings: Settings, now: number): number {
  return now - settings['refunds.reconcile'].minAgeMinutes * 60_000
}

/**
 * Compares as much of a range as the budget allows, and logs the number of differences.
 * @returns the rest of the task, as another task if there is one
 * @throws DEPENDENCY.timeout, DEPENDENCY.unavailable
 */
async function reconcileTask(
  { tenant, from, to }: ReconcileTask,
  { settings, table, log, budget }: Pick<WorkContext, 'settings' | 'table' | 'log' | 'budget'>,
  records: ProviderRecords,
): Promise<ReconcileTask[]> {
  const account = accountOf(tenant, settings)
  const range = { tenant, account, from: Date.parse(from), to: Date.parse(to) }
  const counts = { compared: 0, unrelated: 0, differences: 0 }
  let rest: ReconcileTask[] = []
  for await (const part of reconcile(range, { table, records, budget })) {
    counts.compared += part.compared
    counts.unrelated += part.unrelated.length
    counts.differences += part.differences.length
    rest = part.from > range.from ? [{ tenant, from, to: timestamp(part.from) }] : []
    if (budget.remaining() < partMilliseconds) break
  }
  log.reconciled({ tenant, ...counts })
  return rest
}
