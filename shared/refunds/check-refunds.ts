import { newId, startBudget, timeOf } from '../platform/base/clock.ts'
import { fail } from '../platform/base/failure.ts'
import { commitDecision } from '../platform/idempotency/commit-decision.ts'
import type { Revisable } from '../platform/idempotency/decision.ts'
import { openWork, type Runtime, type WorkContext } from '../platform/request/context.ts'
import { type Finished, workInTurns } from '../platform/request/finish-sagas.ts'
import { idOfEntry } from '../platform/table/keys.ts'
import {
  type DueEntry,
  isRefusedLongerThanADay,
  longPauses,
  readDue,
  retryPauses,
} from '../platform/table/pending-entries.ts'
import type { Write } from '../platform/table/table.ts'
import { alertIfAccountLost } from './lost-account.ts'
import type { PaymentProvider, ProviderOutcome } from './payment-provider.ts'
import { type Refund, requestOf } from './refund.ts'
import { findRefund } from './refund-store.ts'
import { reportOf, settleContextOf, settleRefund } from './settle-refund.ts'
import { isUnsettled, nextQuestion, removeUnsettledEntry } from './unsettled-refunds.ts'

export type OpenProvider = (context: WorkContext) => Promise<Pick<PaymentProvider, 'find'>>

/** An effect, and the refund after it. */
interface CheckedRefund extends Revisable<CheckedRefund> {
  refund: Refund
}

const budgetMilliseconds = 10_000

/**
 * Asks the provider about the unsettled refunds that are due, and commits what it answers. It is asked from the age of
 * refunds.pendingMinutes, then each time the age has doubled, and at least once in 23 hours; each hour at least while it
 * does not answer.
 * @param until no refund is asked about after this time, in milliseconds since 1970
 * @returns `oldest`: the creation of the oldest refund that was due and is still unsettled. Each unsettled refund is due once in 23
 * hours, so a day of runs reports the oldest of all.
 */
export async function checkRefunds(
  runtime: Runtime,
  openProvider: OpenProvider,
  until: number,
): Promise<Finished> {
  const { clock } = runtime
  const budget = startBudget(clock, Math.max(0, until - clock.now()) + budgetMilliseconds)
  const range = { now: clock.now(), countsLater: false }
  const { due } = await readDue<DueEntry>(runtime.openTable(budget), 'unsettled-refund', range)
  const unsettled = new Set(due)
  const result = await workInTurns(due, { clock, until }, async (entry) => {
    const correlation = { id: newId(clock), trace: {} }
    const work = { operation: 'refunds.check', correlation, milliseconds: budgetMilliseconds }
    const after = await checkRefund(entry, openWork(runtime, work), openProvider)
    if (!after || !isUnsettled(after)) unsettled.delete(entry)
    return true
  })
  const starts = Array.from(unsettled, ({ sk }) => timeOf(idOfEntry(sk)))
  return { ...result, ...(starts.length > 0 && { oldest: starts.reduce((a, b) => Math.min(a, b)) }) }
}

/** Returns the refund after the provider's answer; undefined if its entry has no refund. */
async function checkRefund(
  entry: DueEntry,
  context: WorkContext,
  openProvider: OpenProvider,
): Promise<Refund | undefined> {
  const { table, now } = context
  const refund = await findRefund(table, entry.tenant, idOfEntry(entry.sk))
  if (refund?.unsettled_entry !== entry.sk) {
    // The refund is settled, or its tenant was purged.
    await apply(context, [removeUnsettledEntry(entry)])
    return undefined
  }
  try {
    const after = await ask(refund, context, openProvider)
    if (!isUnsettled(after)) return after
    const isMoved = await apply(context, nextQuestion(after, now(), longPauses))
    return isMoved ? after : await findRefund(table, entry.tenant, refund.id)
  } catch (thrown) {
    alertIfAccountLost(thrown, refund, context)
    const isParked = isRefusedLongerThanADay(thrown, refund.id, now())
    const later = nextQuestion(refund, now(), isParked ? longPauses : retryPauses)
    // If this fails too, the next run asks again; the first failure is reported.
    await apply(context, later).catch(() => undefined)
    throw thrown
  }
}

/**
 * Commits writes. @returns whether the refund was still what was read; otherwise its entry stays due, and the next run looks
 * again
 */
async function apply({ table }: Pick<WorkContext, 'table'>, writes: readonly Write[]): Promise<boolean> {
  return !(await table.transact(writes.map(({ onFailure: _, ...change }) => change)))
}

async function ask(refund: Refund, context: WorkContext, openProvider: OpenProvider): Promise<Refund> {
  const provider = await openProvider(context)
  const asked = context.now()
  const outcome = await provider.find(requestOf(refund, context.settings), context.budget)
  if (!outcome) throw new Error('the payment provider does not know a refund that it accepted')
  const change = await changeOf(refund, { outcome, asked }, context)
  const checked = await commitDecision(context, change, ({ refund: result }) => ({ result }))
  return 'result' in checked ? checked.result : refund
}

async function changeOf(
  before: Refund,
  answer: { outcome: ProviderOutcome; asked: number },
  context: Pick<WorkContext, 'table' | 'settings' | 'now' | 'log' | 'correlation'>,
): Promise<CheckedRefund> {
  const report = reportOf(answer.outcome, before, answer.asked)
  const { refund, effects } = await settleRefund(before, report, settleContextOf(context))
  return {
    refund,
    ...effects,
    async onConflict() {
      const current = await findRefund(context.table, before.tenant_id, before.id)
      if (!current) throw fail('TRANSIENT.error')
      return changeOf(current, answer, context)
    },
  }
}
