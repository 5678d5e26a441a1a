import { timestamp } from '../platform/base/clock.ts'
import { fail } from '../platform/base/failure.ts'
import type { WorkContext } from '../platform/request/context.ts'
import type { Item, Key } from '../platform/table/keys.ts'
import type { Settings } from '../settings/register.ts'
import type { ProviderRecords } from './provider-records.ts'
import { reconcile } from './reconcile.ts'
import { accountOf } from './refund.ts'

/** A message of the queue: the daily comparison of one tenant's refunds, up to a time. */
export interface ReconcileTask {
  tenant: string
  to: string
  /** The rest of a comparison that has begun. It goes on before `to`, because the newest part is compared first. */
  rest?: { from: string; to: string }
}

/** The item that holds the time up to which the refunds of a tenant were compared. */
interface Position extends Item {
  /** In milliseconds since 1970. */
  until: number
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
  const to = timestamp(newestCompared(settings, now))
  return Object.keys(settings['refunds.account'].accounts).map((tenant) => ({ tenant, to }))
}

/** The key of a tenant's position. */
export function positionKey(tenant: string): Key {
  return { pk: `reconciled#${tenant}`, sk: 'position' }
}

/** Returns the start of a comparison: some days back, or where the last complete one ended if that is earlier. */
async function startOf(
  { tenant, to }: ReconcileTask,
  { settings, table }: Pick<WorkContext, 'settings' | 'table'>,
): Promise<number> {
  const from = Date.parse(to) - settings['refunds.reconcile'].days * dayMilliseconds
  const position = (await table.get(positionKey(tenant))) as Position | undefined
  return Math.min(from, position?.until ?? from)
}

/**
 * Returns the end of the newest range that can be compared, in milliseconds since 1970. The outcomes of younger refunds
 * may be in progress.
 */
export function newestCompared(settings: Settings, now: number): number {
  return now - settings['refunds.reconcile'].minAgeMinutes * 60_000
}

/**
 * Compares as much of a range as the budget allows, and logs the number of differences. The end of the range becomes the
 * position of the tenant, so days that a failure left out are in the range of a later day.
 * @returns the rest of the task, as another task if there is one
 * @throws DEPENDENCY.timeout, DEPENDENCY.unavailable
 */
async function reconcileTask(
  task: ReconcileTask,
  context: Pick<WorkContext, 'settings' | 'table' | 'log' | 'budget'>,
  records: ProviderRecords,
): Promise<ReconcileTask[]> {
  const { tenant, to, rest } = task
  const { settings, table, log, budget } = context
  const account = accountOf(tenant, settings)
  const from = rest ? Date.parse(rest.from) : await startOf(task, context)
  const range = { tenant, account, from, to: Date.parse(rest?.to ?? to) }
  const counts = { compared: 0, unrelated: 0, differences: 0 }
  let left = range.to
  for await (const part of reconcile(range, { table, records, budget })) {
    counts.compared += part.compared
    counts.unrelated += part.unrelated.length
    counts.differences += part.differences.length
    left = part.from
    if (budget.remaining() < partMilliseconds) break
  }
  log.reconciled({ tenant, ...counts })
  if (left > from) return [{ tenant, to, rest: { from: timestamp(from), to: timestamp(left) } }]
  const until = Date.parse(to)
  // A message that was delayed by days moves no later position back.
  const condition = { absentOrBelow: { attribute: 'until', value: until } }
  await table.put({ item: { ...positionKey(tenant), until }, condition })
  return []
}
