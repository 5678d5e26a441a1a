import { newId, startBudget, timeOf } from '../platform/base/clock.ts'
import { fail } from '../platform/base/failure.ts'
import { commitDecision } from '../platform/idempotency/commit-decision.ts'
import type { Revisable } from '../platform/idempotency/decision.ts'
import { openWork, type Runtime, type WorkContext } from '../platform/request/context.ts'
import { type Finished, workInTurns } from '../platform/request/finish-sagas.ts'
import { pendingEntries } from '../platform/table/table.ts'
import { isOpen, nextCheck, type OpenRefund } from './open-refunds.ts'
import type { PaymentProvider, ProviderOutcome } from './payment-provider.ts'
import { type Refund, requestOf } from './refund.ts'
import { findRefund } from './refund-store.ts'
import { reportOf, settleContextOf, settleRefund } from './settle-refund.ts'

export type OpenProvider = (context: WorkContext) => Promise<Pick<PaymentProvider, 'find'>>

/** An effect, and the refund after it. */
interface CheckedRefund extends Revisable<CheckedRefund> {
  refund: Refund
}

const budgetMilliseconds = 10_000
const minuteMilliseconds = 60_000

/**
 * Asks the provider about the open refunds that are older than refunds.pendingMinutes, and commits what it answers. It is
 * asked about a refund each time its age has doubled, and at least once a day.
 * @param until no refund is asked about after this time, in milliseconds since 1970
 * @returns `oldest`: the creation of the oldest refund that is still open
 */
export async function checkRefunds(
  runtime: Runtime,
  openProvider: OpenProvider,
  until: number,
): Promise<Finished> {
  const { clock, settings } = runtime
  const minAge = settings['refunds.pendingMinutes'] * minuteMilliseconds
  const budget = startBudget(clock, Math.max(0, until - clock.now()) + budgetMilliseconds)
  const items = await pendingEntries(runtime.openTable(budget), 'open-refund', clock.now() - minAge)
  const open = new Set(items as unknown as OpenRefund[])
  const due = [...open].filter(({ next_check_at }) => next_check_at <= clock.now())
  const result = await workInTurns(due, { clock, until }, async (entry) => {
    const correlation = { id: newId(clock), trace: {} }
    const work = { operation: 'refunds.check', correlation, milliseconds: budgetMilliseconds }
    const after = await checkRefund(entry, openWork(runtime, work), openProvider)
    if (!after || !isOpen(after)) open.delete(entry)
    return true
  })
  const [oldest] = open
  return { ...result, ...(oldest && { oldest: timeOf(oldest.sk) }) }
}

/** Returns the refund after the provider's answer; undefined if it was deleted. */
async function checkRefund(
  { tenant, pk, sk }: OpenRefund,
  context: WorkContext,
  openProvider: OpenProvider,
): Promise<Refund | undefined> {
  const { table, settings, budget, now } = context
  const refund = await findRefund(table, tenant, sk)
  if (!refund) {
    // Its tenant was purged.
    await table.transact([{ remove: { pk, sk }, condition: 'none' }])
    return undefined
  }
  const provider = await openProvider(context)
  const asked = now()
  const outcome = await provider.find(requestOf(refund, settings), budget)
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
  const staysOpen = isOpen(before) && isOpen(refund)
  return {
    refund,
    ...effects,
    writes: [...(effects.writes ?? []), ...(staysOpen ? [nextCheck(refund, context.now())] : [])],
    async onConflict() {
      const current = await findRefund(context.table, before.tenant_id, before.id)
      if (!current) throw fail('TRANSIENT.error')
      return changeOf(current, answer, context)
    },
  }
}
