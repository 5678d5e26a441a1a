import { timeOf } from '../platform/base/clock.ts'
import { fail } from '../platform/base/failure.ts'
import type { Decision, Saga } from '../platform/idempotency/decision.ts'
import type { WorkContext } from '../platform/request/context.ts'
import { created, rejection } from '../platform/request/endpoint.ts'
import { alertOfLostAccount } from './lost-account.ts'
import type { PaymentProvider, ProviderOutcome } from './payment-provider.ts'
import { Refund, type RefundView, requestOf } from './refund.ts'
import { findRefund, startWrites } from './refund-store.ts'
import { rejections, reportOf, settleContextOf, settleRefund } from './settle-refund.ts'

/** The refund as it was read, and the provider's answer unless the refund was settled meanwhile. */
interface RefundResult {
  refund: Refund
  answer?: {
    outcome: ProviderOutcome
    /** The time of the request, in milliseconds since 1970. */
    asked: number
  }
}

/** Until this age, hardly anything but its own request has changed a refund. */
const freshMilliseconds = 10_000

/**
 * A refund: the pending refund is committed, the provider pays it, and its outcome is committed with the ledger entry.
 * The refund's id is sent with each attempt, so all attempts lead to one payout.
 */
export function refundSaga(
  context: Pick<WorkContext, 'settings' | 'table' | 'now' | 'budget' | 'report' | 'log' | 'correlation'>,
  openProvider: () => Promise<Pick<PaymentProvider, 'refund'>>,
): Saga<Refund, RefundResult, RefundView> {
  const { settings, table, now, budget } = context
  return {
    finishedBy: 'service',
    start(refund) {
      const { id, tenant_id: tenant, charge_id, amount } = refund
      return {
        writes: startWrites(refund, settings),
        audit: { action: 'refund', target: `refund/${id}`, tenant, after: { charge_id, amount } },
      }
    },
    async execute(recorded) {
      const isFresh = now() - timeOf(recorded.id) < freshMilliseconds
      const refund = isFresh ? recorded : await currentRefund(recorded)
      if (refund.status !== 'pending') return { refund }
      try {
        return await attempt(refund)
      } catch (thrown) {
        alertOfLostAccount(thrown, refund, context)
        throw thrown
      }
    },
    outcome: (_, result) => outcomeOf(result),
  }

  /** @throws DEPENDENCY.timeout, DEPENDENCY.unavailable: the refund stays pending */
  async function attempt(refund: Refund): Promise<RefundResult> {
    const provider = await openProvider()
    const asked = now()
    const outcome = await provider.refund(requestOf(refund), budget)
    // The provider had processed an earlier attempt whose response was lost; that outcome counts.
    if ('replayed' in outcome && outcome.replayed) context.report('PROVIDER_REPLAYED', 'PROVIDER.duplicate')
    return { refund, answer: { outcome, asked } }
  }

  async function outcomeOf({ refund, answer }: RefundResult): Promise<Decision<RefundView>> {
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

  async function currentRefund({ tenant_id, id }: Refund): Promise<Refund> {
    const refund = await findRefund(table, tenant_id, id)
    if (!refund) throw new Error('a saga was started without its refund')
    return refund
  }
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
