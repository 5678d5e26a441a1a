import { timeOf } from '#shared/platform/base/clock.ts'
import { type LedgerLine, type RefundLine, readLedger } from './lists.ts'
import type { Reach } from './reach.ts'

/** A booking, as a list of refunds shows it. */
type Booking = Pick<LedgerLine, 'kind' | 'amount' | 'at'>

/** Adds their entries in the ledger, oldest first, to refunds of one tenant, by one read of the same time. Pending refunds have none. */
export async function withLedger(
  refunds: RefundLine[],
  reach: Reach,
): Promise<{ lines: (RefundLine & { ledger?: Booking[] })[]; units: number }> {
  const paid = refunds.filter(({ status }) => status === 'succeeded' || status === 'reversed')
  const [newest, oldest] = [paid[0], paid.at(-1)]
  if (!newest || !oldest) return { lines: refunds, units: 0 }
  const time = { from: timeOf(oldest.id), to: timeOf(newest.id) + 1 }
  const ledger: LedgerLine[] = []
  let units = 0
  for (let cursor: string | undefined, complete = false; !complete; ) {
    const answer = await readLedger(reach, { tenant: newest.tenant_id, ...time, limit: 10_000, cursor })
    ledger.push(...answer.lines)
    units += answer.units.read
    ;({ cursor, complete } = answer)
  }
  const byRefund = Map.groupBy(ledger, ({ refund_id }) => refund_id)
  const lines = refunds.map((refund) => {
    const booked = byRefund.get(refund.id)
    return booked
      ? { ...refund, ledger: booked.toReversed().map(({ kind, amount, at }) => ({ kind, amount, at })) }
      : refund
  })
  return { lines, units }
}
