import type { ErrorCode } from '../error-catalog.ts'
import { fail } from '../platform/base/failure.ts'
import { timeOf } from '../platform/base/ids.ts'
import type { AuditEntry } from '../platform/idempotency/audit-record.ts'
import type { Actor } from '../platform/identity/caller.ts'
import type { Context } from '../platform/request/endpoint.ts'
import { created, type Reply, refusal } from '../platform/request/reply.ts'
import type { Settings } from '../settings/register.ts'
import type { PaymentProvider, ProviderOutcome } from './payment-provider.ts'
import { type Refund, settle, viewOf } from './refund.ts'
import { accountOf } from './refund-account.ts'
import { refundSucceeded } from './refund-events.ts'
import { failedRefund, findRefund, settledRefund, succeededRefund } from './refund-store.ts'

type Circumstances = Pick<Context, 'table' | 'settings' | 'now' | 'budget' | 'report' | 'committer'>

/** The recorded state of a refund's intent. Intents of earlier versions hold only the refund. */
export interface PendingRefund {
  refund: Refund
  /** Recorded, so that a changed setting cannot send a second attempt to another account. */
  account?: string
  actor?: Actor | undefined
}

/** Until this age, hardly anything but its own request has changed a refund. */
const freshMilliseconds = 10_000

/**
 * Requests a refund from the provider and decides its outcome. Safe to repeat: the refund's id is sent with each
 * request, so all requests lead to one payout.
 * @throws DEPENDENCY.timeout, DEPENDENCY.unavailable: the refund stays pending
 */
export async function settleRefund(
  pending: PendingRefund,
  provider: PaymentProvider,
  context: Circumstances,
): Promise<Reply> {
  const isFresh = context.now() - timeOf(pending.refund.id) < freshMilliseconds
  return settleFrom(isFresh ? pending : await withCurrentRefund(pending, context), provider, context)
}

async function settleFrom(
  pending: PendingRefund,
  provider: PaymentProvider,
  context: Circumstances,
): Promise<Reply> {
  const { settings, now, budget, report, committer } = context
  const { refund, account = accountOf(refund.tenant_id, settings), actor = committer.caller } = pending
  if (refund.status !== 'pending') return alreadySettled(refund, settings)
  const outcome = await provider.refund(
    {
      account,
      chargeId: refund.charge_id,
      amount: refund.amount,
      refundId: refund.id,
      askedSince: timeOf(refund.id),
    },
    budget,
  )
  // The provider had processed an earlier attempt whose response was lost; that outcome counts.
  if ('replayed' in outcome && outcome.replayed) report('PROVIDER_REPLAYED', 'PROVIDER.duplicate')
  // The refund was settled meanwhile, for example by an event of the provider: that outcome counts.
  const onConflict = async () => settleFrom(await withCurrentRefund(pending, context), provider, context)
  return { ...decided({ refund, actor }, outcome, settings, now()), onConflict }
}

async function withCurrentRefund(
  pending: PendingRefund,
  { table }: Pick<Circumstances, 'table'>,
): Promise<PendingRefund> {
  const { tenant_id, id } = pending.refund
  const refund = await findRefund(table, tenant_id, id)
  if (!refund) throw new Error('an intent was committed without its refund')
  return { ...pending, refund }
}

function decided(
  { refund, actor }: Pick<PendingRefund, 'refund' | 'actor'>,
  outcome: ProviderOutcome,
  settings: Settings,
  now: number,
): Reply {
  if (outcome.status === 'refused') {
    const after = settle(refund, { status: 'failed' }, now)
    const failure = fail(refusals[outcome.reason])
    const audit = actor && { ...deniedRefund(refund, failure.code), actor }
    return refusal(failure, { writes: failedRefund(refund, after, settings), ...(audit && { audit }) })
  }
  const { status, providerRefundId: provider_refund_id, currency } = outcome
  const after = settle(refund, { status, provider_refund_id, ...(currency && { currency }) }, now)
  const effects =
    status === 'succeeded'
      ? { writes: succeededRefund(refund, after), events: refundSucceeded(after) }
      : { writes: [settledRefund(refund, after)] }
  return created(viewOf(after, settings), effects)
}

/** Audits the provider's refusal too, because the intent is audited as allowed. */
function deniedRefund({ id, tenant_id: tenant, charge_id, amount }: Refund, reason: ErrorCode): AuditEntry {
  return {
    action: 'refund',
    target: `refund/${id}`,
    tenant,
    after: { charge_id, amount },
    result: 'deny',
    reason,
  }
}

function alreadySettled(refund: Refund, settings: Settings): Reply {
  return refund.status === 'failed'
    ? refusal(fail('POLICY.refund.declined'))
    : created(viewOf(refund, settings))
}

const refusals = {
  no_such_charge: 'NOT_FOUND.charge',
  exceeds_charge: 'POLICY.refund.exceeds_charge',
  declined: 'POLICY.refund.declined',
} as const satisfies Record<string, ErrorCode>
