import type { AuditedAction } from '../platform/audit/audit-record.ts'
import { timestamp } from '../platform/base/clock.ts'
import type { AlertCode, AlertSubject } from '../platform/base/log.ts'
import type { Effects } from '../platform/idempotency/decision.ts'
import type { WorkContext } from '../platform/request/context.ts'
import type { Table } from '../platform/table/table.ts'
import type { Settings } from '../settings/register.ts'
import type { ProviderOutcome } from './payment-provider.ts'
import { type Refund, refundSucceeded } from './refund.ts'
import { type NextStatus, nextStatus, type ProviderReport } from './refund-states.ts'
import { chargeLockWrites, ledgerWrites, replacedRefund } from './refund-store.ts'
import { unsettledEntryWrites, withUnsettledEntry } from './unsettled-refunds.ts'

/** What a settlement reads and writes in the table. */
export const settlementTable = {
  get: ['refund', 'charge_lock'],
  put: ['audit', 'ledger', 'unsettled-refund', 'refund', 'charge_lock'],
  update: ['ledger'],
  delete: ['unsettled-refund', 'charge_lock'],
} as const

/** The dependencies of a settlement. */
interface SettleContext {
  table: Table
  settings: Settings
  /** Milliseconds since 1970. */
  now: number
  /** Raises an alarm. */
  alert(code: AlertCode, about: AlertSubject): void
}

/** Returns the dependencies of a settlement at this moment. */
export function settleContextOf({
  table,
  settings,
  now,
  log,
  correlation,
}: Pick<WorkContext, 'table' | 'settings' | 'now' | 'log' | 'correlation'>): SettleContext {
  return { table, settings, now: now(), alert: (code, about) => log.alert(code, correlation, about) }
}

interface Settlement {
  /** The refund after the report. */
  refund: Refund
  next: NextStatus
  /** None if the report says nothing new. */
  effects: Effects
}

/**
 * Applies what the provider says about a refund; the only way in which its status and the provider's facts change. An edge between two statuses
 * writes the refund, an audit record, and the ledger entry and the event that belong to it. The provider's id and the
 * currency are added to whatever lacks them.
 */
export async function settleRefund(
  before: Refund,
  report: ProviderReport,
  context: SettleContext,
): Promise<Settlement> {
  const next = nextStatus(before, report)
  const status = next === 'unchanged' || next === 'contradiction' ? before.status : next
  const isEdge = status !== before.status
  // A later failure of a failed refund is no edge, but its time counts.
  const isOutcome = next === status && report.at !== undefined
  const learned = { ...newFacts(before, report), ...(isOutcome && { outcome_at: report.at }) }
  if (!isEdge && Object.keys(learned).length === 0) return { refund: before, next, effects: {} }
  const changed: Refund = {
    ...before,
    ...learned,
    status,
    updated_at: timestamp(context.now),
    version: before.version + 1,
  }
  const after = withUnsettledEntry(changed, context.settings)
  const locks = isEdge ? await chargeLockWrites(after, context) : []
  if (before.status === 'failed' && isEdge) context.alert('REFUND_PAID_LATE', { tenant: before.tenant_id })
  const effects = {
    writes: [
      replacedRefund(before, after),
      ...ledgerWrites(before, after),
      ...locks,
      ...unsettledEntryWrites(before, after),
    ],
    ...(isEdge && status === 'succeeded' && { events: refundSucceeded(after, context.settings) }),
    ...(isEdge && { audit: auditOf(before, after, report) }),
  }
  return { refund: after, next, effects }
}

/** Returns what the report adds to the provider's facts about a refund. */
function newFacts(
  refund: Refund,
  { provider_refund_id, currency }: ProviderReport,
): Pick<Refund, 'provider_refund_id' | 'currency'> {
  return {
    ...(refund.provider_refund_id === undefined && provider_refund_id && { provider_refund_id }),
    ...(refund.currency === undefined && currency && { currency }),
  }
}

/** Returns the audit record of an edge. Its actor is the provider, whose failure counts as a denial. */
function auditOf(before: Refund, after: Refund, { reason }: ProviderReport): AuditedAction {
  const { id, tenant_id: tenant, charge_id, amount, status } = after
  return {
    action: `refund_${status}`,
    target: `refund/${id}`,
    tenant,
    actor: { sub: 'payment_provider', tenant, role: undefined },
    before: { status: before.status },
    after: { status, charge_id, amount },
    ...(status === 'failed' && { result: 'deny', reason: reason ?? 'POLICY.refund.declined' }),
  }
}

/**
 * How much the clocks of the service and the provider may differ. Both are synchronized, so it is ample. Two outcomes that
 * follow each other within twice this time may be taken for each other.
 */
const maxClockDifferenceMilliseconds = 2500

/**
 * Returns an answer of the provider as a report.
 * @param asked the time of the request. An answer does not count over an event that occurred during the request. A
 * repeated answer is as old as the refund's first request. Every answer is dated back by what the clocks may differ: an
 * outcome that follows at once, by the clock of the provider, must not look older.
 */
export function reportOf(outcome: ProviderOutcome, refund: Refund, asked: number): ProviderReport {
  if (outcome.status === 'rejected') return { status: 'failed', reason: rejections[outcome.reason] }
  const { status, providerRefundId: provider_refund_id, currency, replayed, lookedUp } = outcome
  const since = replayed && !lookedUp ? Date.parse(refund.created_at) : asked
  const at = timestamp(since - maxClockDifferenceMilliseconds)
  return { status, at, provider_refund_id, ...(currency !== undefined && { currency }) }
}

/** The error of a refund that the provider rejects, by its reason. */
export const rejections = {
  no_such_charge: 'NOT_FOUND.charge',
  exceeds_charge: 'POLICY.refund.exceeds_charge',
  declined: 'POLICY.refund.declined',
} as const
