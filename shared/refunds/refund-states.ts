import type { ErrorCode } from '../error-catalog.ts'
import { isEarlier } from '../platform/base/clock.ts'

/**
 * `pending` until the provider has reported an outcome. A `failed` refund was not paid; a `reversed` one was paid, and the
 * provider took the payout back.
 */
export const refundStatuses = ['pending', 'succeeded', 'failed', 'reversed'] as const
export type RefundStatus = (typeof refundStatuses)[number]

/** What the provider says about a refund, by an event or as an answer. */
export interface ProviderReport {
  status: 'pending' | 'succeeded' | 'failed'
  /**
   * The time at which it was true. A rejection has none: it is about one request, and the refund may be paid by another.
   */
  at?: string
  provider_refund_id?: string
  currency?: string
  /** Why the refund failed. */
  reason?: ErrorCode
}

/** `unchanged` after a duplicate or an older report. `contradiction`: no refund is paid after its reversal. */
export type NextStatus = RefundStatus | 'unchanged' | 'contradiction'

/**
 * The edges from each status, by the reported one. Any other report leaves a refund as it is. A later failure of a refund
 * that failed may be the reversal of a payout whose report is still to come, so its time counts.
 */
const edges: Record<RefundStatus, Partial<Record<ProviderReport['status'], NextStatus>>> = {
  pending: { succeeded: 'succeeded', failed: 'failed' },
  failed: { succeeded: 'succeeded', failed: 'failed' },
  succeeded: { failed: 'reversed' },
  reversed: { succeeded: 'contradiction' },
}

type KnownOutcome = { status: RefundStatus; outcome_at?: string }

/** Returns the status of a refund after a report. @param refund its status, and the time of the report that led to it */
export function nextStatus(refund: KnownOutcome, report: ProviderReport): NextStatus {
  const next = edges[refund.status][report.status]
  return next && (refund.status === 'pending' || isLater(report, refund)) ? next : 'unchanged'
}

/** A payout and a failure of the same time are a reversal: providers reverse payouts and never pay failed ones. */
function isLater({ status, at }: ProviderReport, { status: known, outcome_at }: KnownOutcome): boolean {
  if (at === undefined || outcome_at === undefined) return at !== undefined
  return at === outcome_at ? status === 'failed' && known === 'succeeded' : isEarlier(outcome_at, at)
}
