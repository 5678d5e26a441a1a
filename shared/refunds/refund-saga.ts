import type { ErrorCode } from '../error-catalog.ts'
import { timeOf } from '../platform/base/clock.ts'
import { fail } from '../platform/base/failure.ts'
import type { AuditEntry } from '../platform/idempotency/commit.ts'
import type { Effects, Saga } from '../platform/idempotency/effects.ts'
import type { Actor } from '../platform/identity/caller.ts'
import { created, type Decision, rejection, type SagaContext } from '../platform/request/endpoint.ts'
import type { Settings } from '../settings/register.ts'
import type { PaymentProvider, ProviderOutcome } from './payment-provider.ts'
import { accountOf, type Refund, refundSucceeded, settle, viewOf } from './refund.ts'
import { failedRefund, findRefund, newRefund, settledRefund, succeededRefund } from './refund-store.ts'

/** The state of a pending refund. Release 0.1.0 recorded only the refund. */
export interface PendingRefund {
  refund: Refund
  /** Recorded, so that a changed setting cannot send a second attempt to another account. */
  account?: string
  actor?: Actor | undefined
}

/** The refund as it was read, and the provider's outcome unless the refund was settled meanwhile. */
interface Attempt {
  refund: Refund
  outcome?: ProviderOutcome
}

/** Until this age, hardly anything but its own request has changed a refund. */
const freshMilliseconds = 10_000

/**
 * A refund: the pending refund is committed, the provider pays it, and its outcome is committed with the ledger entry.
 * The refund's id is sent with each attempt, so all attempts lead to one payout.
 */
export function refundSaga(
  context: SagaContext,
  openProvider: () => Promise<PaymentProvider>,
): Saga<PendingRefund, Attempt, Decision> {
  const { settings, table, now, budget } = context
  return {
    finishedBy: 'service',
    start({ refund }) {
      const { id, tenant_id: tenant, charge_id, amount } = refund
      return {
        writes: newRefund(refund, settings),
        audit: { action: 'refund', target: `refund/${id}`, tenant, after: { charge_id, amount } },
      }
    },
    async execute(state) {
      const isFresh = now() - timeOf(state.refund.id) < freshMilliseconds
      return attempt(state, isFresh ? state.refund : await currentRefund(state))
    },
    outcome: outcomeOf,
  }

  /** @throws DEPENDENCY.timeout, DEPENDENCY.unavailable: the refund stays pending */
  async function attempt(state: PendingRefund, refund: Refund): Promise<Attempt> {
    if (refund.status !== 'pending') return { refund }
    const provider = await openProvider()
    const { account = accountOf(refund.tenant_id, settings) } = state
    const { id: refundId, charge_id: chargeId, amount } = refund
    const request = { account, chargeId, amount, refundId, requestedSince: timeOf(refundId) }
    const outcome = await provider.refund(request, budget)
    // The provider had processed an earlier attempt whose response was lost; that outcome counts.
    if ('replayed' in outcome && outcome.replayed) context.report('PROVIDER_REPLAYED', 'PROVIDER.duplicate')
    return { refund, outcome }
  }

  function outcomeOf(state: PendingRefund, { refund, outcome }: Attempt): Decision {
    if (!outcome) return alreadySettled(refund, settings)
    const { actor = context.caller } = state
    return {
      ...settlement({ refund, actor }, outcome, settings, now()),
      // The refund was settled meanwhile, for example by an event of the provider: that outcome counts.
      onConflict: async () => outcomeOf(state, await attempt(state, await currentRefund(state))),
    }
  }

  async function currentRefund({ refund: { tenant_id, id } }: PendingRefund): Promise<Refund> {
    const refund = await findRefund(table, tenant_id, id)
    if (!refund) throw new Error('a saga was started without its refund')
    return refund
  }
}

/** Returns the effects of a payout: the refund, its ledger entry and its event. */
export function paidRefund(before: Refund, after: Refund): Effects<never> {
  return { writes: succeededRefund(before, after), events: refundSucceeded(after) }
}

function settlement(
  { refund, actor }: Pick<PendingRefund, 'refund' | 'actor'>,
  outcome: ProviderOutcome,
  settings: Settings,
  now: number,
): Decision {
  if (outcome.status === 'rejected') {
    const after = settle(refund, { status: 'failed' }, now)
    const failure = fail(rejections[outcome.reason])
    const audit = actor && { ...deniedRefund(refund, failure.code), actor }
    return rejection(failure, { writes: failedRefund(refund, after, settings), ...(audit && { audit }) })
  }
  const { status, providerRefundId: provider_refund_id, currency } = outcome
  const after = settle(refund, { status, provider_refund_id, ...(currency && { currency }) }, now)
  const effects =
    status === 'succeeded' ? paidRefund(refund, after) : { writes: [settledRefund(refund, after)] }
  return created(viewOf(after, settings), effects)
}

/** Audits the provider's rejection too, because the request is audited as allowed. */
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

function alreadySettled(refund: Refund, settings: Settings): Decision {
  return refund.status === 'failed'
    ? rejection(fail('POLICY.refund.declined'))
    : created(viewOf(refund, settings))
}

const rejections = {
  no_such_charge: 'NOT_FOUND.charge',
  exceeds_charge: 'POLICY.refund.exceeds_charge',
  declined: 'POLICY.refund.declined',
} as const satisfies Record<string, ErrorCode>
