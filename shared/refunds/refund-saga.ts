import { timeOf } from '../platform/base/clock.ts'
import { fail } from '../platform/base/failure.ts'
import type { Decision, Saga } from '../platform/idempotency/decision.ts'
import type { WorkContext } from '../platform/request/context.ts'
import { created, rejection } from '../platform/request/endpoint.ts'
import { restoredAt } from '../platform/table/restored.ts'
import { alertIfAccountLost } from './lost-account.ts'
import type { EarlierUse, PaymentProvider, ProviderOutcome } from './payment-provider.ts'
import { claimPayout } from './payout-claim.ts'
import type { ProviderRefund } from './provider-refunds.ts'
import { Refund, type RefundView, requestOf } from './refund.ts'
import { findRefund, lockHoldersOf, replacedRefund, startWrites } from './refund-store.ts'
import { rejections, reportOf, settleContextOf, settlementTable, settleRefund } from './settle-refund.ts'

/** What the saga reads and writes in the table. */
export const sagaTable = {
  ...settlementTable,
  get: [...settlementTable.get, 'restored'],
  put: [...settlementTable.put, 'payout'],
} as const

/** The refund as it was read, and what was learned about it unless it was settled meanwhile. */
interface RefundResult {
  /** Undefined if it is gone, such as after a restore to a point in time that cut the transaction of its start. */
  refund: Refund | undefined
  answer?: {
    outcome: ProviderOutcome
    /** The time of the request, in milliseconds since 1970. */
    asked: number
  }
  /** Why the refund ends without a request: `same` is the refund of the earlier payout, absent if the payload differs. */
  earlier?: { same?: Refund }
}

/**
 * A refund: the pending refund is committed, the provider pays it, and its outcome is committed with the ledger entry.
 * The name of the caller's request is sent with each attempt, so all attempts lead to one payout, also those of a refund that
 * the table has lost: the refund adopts its payout.
 */
export function refundSaga(
  context: Pick<
    WorkContext,
    'settings' | 'table' | 'now' | 'remember' | 'budget' | 'report' | 'log' | 'correlation'
  >,
  openProvider: () => Promise<Pick<PaymentProvider, 'refund' | 'adopt'>>,
): Saga<Refund, RefundResult, RefundView> {
  const { settings, table, now, budget } = context
  let started: Refund | undefined
  return {
    finishedBy: 'service',
    start(refund) {
      const { id, tenant_id: tenant, charge_id, amount } = refund
      started = refund
      return {
        writes: startWrites(refund, settings),
        audit: { action: 'refund', target: `refund/${id}`, tenant, after: { charge_id, amount } },
      }
    },
    async execute(recorded) {
      // Other functions' roles may write the state of a saga that is taken over: only the stored refund is paid.
      const refund = recorded.id === started?.id ? started : await currentRefund(recorded)
      if (refund?.status !== 'pending') return { refund }
      try {
        return await attempt(refund)
      } catch (thrown) {
        alertIfAccountLost(thrown, refund, context)
        throw thrown
      }
    },
    outcome: (_, result) => outcomeOf(result),
  }

  /** @throws DEPENDENCY.timeout, DEPENDENCY.unavailable: the refund stays pending */
  async function attempt(refund: Refund): Promise<RefundResult> {
    const provider = await openProvider()
    const mayBeLost = await wasRestored(context)
    const asked = now()
    const outcome = await provider.refund(requestOf(refund, settings, { mayBeLost }), budget)
    return outcome.status === 'key_used' ? afterEarlierUse(refund, outcome) : answered(refund, outcome, asked)
  }

  function answered(refund: Refund, outcome: ProviderOutcome, asked: number): RefundResult {
    // The provider had processed an earlier attempt whose response was lost; that outcome counts.
    if ('replayed' in outcome && outcome.replayed) context.report('PROVIDER_REPLAYED', 'PROVIDER.duplicate')
    return { refund, answer: { outcome, asked } }
  }

  /**
   * Decides by the age of an earlier payout of the caller's key: a young one is the request's own. An older one, or none
   * because an earlier attempt was declined, was another request's.
   * @throws DEPENDENCY.timeout, DEPENDENCY.unavailable: the refund stays pending
   */
  async function afterEarlierUse({ tenant_id, id }: Refund, { payout }: EarlierUse): Promise<RefundResult> {
    const refund = await currentRefund({ tenant_id, id })
    if (refund?.status !== 'pending') return { refund }
    const request = requestOf(refund, settings)
    if (!payout || payout.createdAt < request.earliestPayoutAt) return attempt(await withOwnKey(refund))
    if (payout.chargeId !== request.chargeId || payout.amount !== request.amount)
      return { refund, earlier: {} }
    const same = await refundOf(payout, refund)
    if (same) return { refund, earlier: { same } }
    const provider = await openProvider()
    const asked = now()
    return answered(refund, await provider.adopt(payout.id, request, budget), asked)
  }

  /** Records that a refund is requested by its own key, before it is. @throws TRANSIENT.error if it changed meanwhile */
  async function withOwnKey(refund: Refund): Promise<Refund> {
    if (refund.uses_own_key) return refund
    const another = { ...refund, uses_own_key: true, version: refund.version + 1 }
    const { onFailure, ...write } = replacedRefund(refund, another)
    if (await table.transact([write])) throw fail(onFailure)
    return another
  }

  /**
   * Claims a payout for a refund.
   * @returns the refund that has the payout already
   * @throws TRANSIENT.error if that one is not stored yet
   */
  async function refundOf(payout: ProviderRefund, { id, tenant_id, account }: Refund) {
    const named =
      payout.refundId === undefined ? undefined : await findRefund(table, tenant_id, payout.refundId)
    if (named?.provider_refund_id === payout.id) return named
    const refusal = await table.put(claimPayout(account, payout.id, { tenant: tenant_id, refund_id: id }))
    const holder = refusal?.existing?.refund_id ?? id
    if (holder === id) return undefined
    const other = await findRefund(table, tenant_id, String(holder))
    if (!other) throw fail('TRANSIENT.error')
    return other
  }

  async function outcomeOf({ refund, answer, earlier }: RefundResult): Promise<Decision<RefundView>> {
    // Without a refund, nothing is written: the record is completed, and the entry of the saga is removed.
    if (!refund) return rejection(fail('INTERNAL.unexpected'))
    if (earlier && refund.status === 'pending') return endWithout(refund, earlier)
    if (!answer) return responseOf(refund)
    const { outcome, asked } = answer
    const settled = await settleRefund(refund, reportOf(outcome, refund, asked), settleContextOf(context))
    return {
      ...responseOf(settled.refund, outcome),
      ...settled.effects,
      // Something else settled the refund meanwhile, for example an event of the provider. The answer is added to it.
      onConflict: async () => outcomeOf({ refund: await currentRefund(refund), answer }),
    }
  }

  /** Ends a refund that is not requested, with the answer of the earlier one. */
  async function endWithout(refund: Refund, earlier: { same?: Refund }): Promise<Decision<RefundView>> {
    const { same } = earlier
    const reason = same ? 'PROVIDER.duplicate' : 'CONFLICT.idempotency.payload_mismatch'
    const { effects } = await settleRefund(refund, { status: 'failed', reason }, settleContextOf(context))
    const answer = same ? responseOf(same) : rejection<RefundView>(fail(reason))
    return {
      ...answer,
      ...effects,
      onConflict: async () => outcomeOf({ refund: await currentRefund(refund), earlier }),
    }
  }

  function currentRefund({ tenant_id, id }: Pick<Refund, 'tenant_id' | 'id'>) {
    return findRefund(table, tenant_id, id)
  }
}

/**
 * Returns the answer to a request whose payout was booked after a restore, by a command. Its refund has locked the charge, so no
 * other one can start.
 */
export async function findBookedByOperator(
  refund: Refund,
  context: Pick<WorkContext, 'settings' | 'table' | 'now' | 'remember'>,
): Promise<Decision<RefundView> | undefined> {
  const { settings, table } = context
  if (settings['refunds.policy'] === 'within_charge' || !(await wasRestored(context))) return undefined
  const { earliestPayoutAt } = requestOf(refund, settings)
  for (const id of await lockHoldersOf(refund, table)) {
    const other = timeOf(id) < earliestPayoutAt ? undefined : await findRefund(table, refund.tenant_id, id)
    if (other?.request_name !== refund.request_name) continue
    if (other.charge_id !== refund.charge_id || other.amount !== refund.amount)
      throw fail('CONFLICT.idempotency.payload_mismatch')
    return responseOf(other)
  }
  return undefined
}

/** Returns whether the table went back to an earlier time while a payout that it lost may still be young. */
async function wasRestored(
  context: Pick<WorkContext, 'settings' | 'table' | 'now' | 'remember'>,
): Promise<boolean> {
  const at = await restoredAt(context)
  const lifetime = context.settings['idempotency.lifetimeHours'] * 3_600_000
  return at !== undefined && context.now() - at < lifetime
}

/** Returns the refund and the path at which a later outcome can be read. The error of a failed refund names its id. */
function responseOf(refund: Refund, outcome?: ProviderOutcome): Decision<RefundView> {
  if (refund.status !== 'failed') {
    return created(Refund.viewOf(refund), { location: `/v1/refunds/${refund.id}` })
  }
  const { reason = 'declined', remaining } = outcome?.status === 'rejected' ? outcome : {}
  const details = { refund_id: refund.id, ...(remaining !== undefined && { remaining }) }
  return rejection(fail(rejections[reason], { details }))
}
