import * as v from 'valibot'
import { dayMilliseconds, timestamp } from '../platform/base/clock.ts'
import { Failure, fail } from '../platform/base/failure.ts'
import type { WorkContext } from '../platform/request/context.ts'
import type { Item, Key } from '../platform/table/keys.ts'
import { inParallel } from '../platform/table/table.ts'
import type { Settings } from '../settings/register.ts'
import { accountPages, findAccount } from './accounts.ts'
import type { ProviderRefunds } from './provider-refunds.ts'
import { reconcile } from './reconcile.ts'

/** A message of the queue: the daily comparison of the refunds of one account, up to a time. */
const ReconcileTask = v.object({
  tenant: v.string(),
  account: v.string(),
  to: v.string(),
  /** The rest of a comparison that has begun. It goes on before `to`, because the newest part is compared first. */
  rest: v.exactOptional(v.object({ from: v.string(), to: v.string() })),
})
export type ReconcileTask = v.InferOutput<typeof ReconcileTask>

/** A message of the queue: the start of the comparisons of a day. That of the schedule has no field, the others go on. */
const StartTask = v.object({ from: v.exactOptional(v.string()), to: v.exactOptional(v.string()) })
type StartTask = v.InferOutput<typeof StartTask>

/** The item that holds the time up to which the refunds of an account were compared. */
interface ComparedPosition extends Item {
  /** In milliseconds since 1970. */
  until: number
}

type TaskContext = Pick<WorkContext, 'settings' | 'table' | 'log' | 'budget' | 'correlation' | 'isBlocked'>

/** No part of a comparison, and no further page of accounts, is started with less time than this. */
const partMilliseconds = 12_000

/** The message of the schedule, which starts the comparison of all accounts. */
export const startMessage = '{}'
/** The number of messages that the queue accepts at once. */
const batchSize = 10

/**
 * Handles a message: that of the schedule becomes one for each account. What takes longer than one message may is continued
 * by another. A repeated message compares again and changes nothing.
 * @param send sends at most ten messages, and returns for each whether it failed
 */
export async function reconcileMessage(
  body: string,
  context: TaskContext & Pick<WorkContext, 'now'>,
  queue: {
    openProviderRefunds(): Promise<ProviderRefunds>
    send(messages: readonly { body: string; group: string }[]): Promise<boolean[]>
  },
): Promise<void> {
  const message = JSON.parse(body)
  if (isReconcileTask(message)) {
    const task = v.parse(ReconcileTask, message)
    await send(await reconcileTask(task, context, await queue.openProviderRefunds()))
  } else await startComparisons(v.parse(StartTask, message), context, send)

  async function send(tasks: readonly (ReconcileTask | StartTask)[]): Promise<void> {
    const count = Math.ceil(tasks.length / batchSize)
    const batches = Array.from({ length: count }, (_, at) =>
      tasks.slice(at * batchSize, (at + 1) * batchSize),
    )
    await inParallel(batches, async (batch) => {
      const messages = batch.map((task) => ({
        body: JSON.stringify(task),
        group: isReconcileTask(task) ? task.tenant : 'all',
      }))
      if ((await queue.send(messages)).includes(true)) throw fail('DEPENDENCY.unavailable')
    })
  }
}

function isReconcileTask(message: ReconcileTask | StartTask): message is ReconcileTask {
  return 'account' in message || 'tenant' in message
}

/** Sends a task for each account that a tenant has or had, and the start of the rest if there is no time for it. */
async function startComparisons(
  { from, to }: StartTask,
  { settings, table, budget, now }: Pick<WorkContext, 'settings' | 'table' | 'budget' | 'now'>,
  send: (tasks: readonly (ReconcileTask | StartTask)[]) => Promise<void>,
): Promise<void> {
  const until = to ?? timestamp(newestCompared(settings, now()))
  let isFirst = true
  for await (const accounts of accountPages(table, from)) {
    const [next] = accounts
    if (next && !isFirst && budget.remaining() < partMilliseconds)
      return send([{ from: next.account, to: until }])
    await send(accounts.map((one) => ({ ...one, to: until })))
    isFirst = false
  }
}

/** The key of an account's position. */
export function positionKey(tenant: string, account: string): Key {
  return { pk: `reconciled#${tenant}`, sk: account }
}

/** Returns the start of a comparison: some days back, or where the last complete one ended if that is earlier. */
async function startOf(
  { tenant, account, to }: ReconcileTask,
  { settings, table }: Pick<WorkContext, 'settings' | 'table'>,
): Promise<number> {
  const from = Date.parse(to) - settings['refunds.reconcile'].days * dayMilliseconds
  const position = (await table.get(positionKey(tenant, account))) as ComparedPosition | undefined
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
 * position of the account, so days that a failure or a block of the tenant left out are in the range of a later day. A block ends
 * comparisons before a purge deletes the first entry. A lost account cannot be read.
 * @returns the rest of the task, as another task if there is one
 * @throws DEPENDENCY.timeout, DEPENDENCY.unavailable
 */
async function reconcileTask(
  task: ReconcileTask,
  context: TaskContext,
  providerRefunds: ProviderRefunds,
): Promise<ReconcileTask[]> {
  const { tenant, account, to, rest } = task
  const { table, log, budget, correlation } = context
  if (await context.isBlocked(tenant, table)) return []
  const known = await findAccount(table, tenant, account)
  if (!known || known.lost_at !== undefined) return []
  const from = rest ? Date.parse(rest.from) : await startOf(task, context)
  const range = { tenant, account, from, to: Date.parse(rest?.to ?? to) }
  const counts = { compared: 0, unrelated: 0, differences: 0 }
  let left = range.to
  try {
    for await (const part of reconcile(range, { table, providerRefunds, budget })) {
      counts.compared += part.compared
      counts.unrelated += part.unrelated.length
      counts.differences += part.differences.length
      left = part.from
      if (budget.remaining() < partMilliseconds) break
    }
  } catch (thrown) {
    if (!(thrown instanceof Failure && thrown.refusedByTenant)) throw thrown
    if (known.disconnected_at === undefined) log.alert('PROVIDER_ACCOUNT_LOST', correlation, { tenant })
    return []
  }
  log.reconciled({ tenant, account, ...counts })
  if (left > from) return [{ tenant, account, to, rest: { from: timestamp(from), to: timestamp(left) } }]
  const until = Date.parse(to)
  // A message that was delayed by days moves no later position back.
  const condition = { absentOrBelow: { attribute: 'until', value: until } }
  await table.put({ item: { ...positionKey(tenant, account), until }, condition })
  return []
}
