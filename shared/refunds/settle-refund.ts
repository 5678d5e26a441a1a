import type { ErrorCode } from '../platform/errors/catalogue.ts'
import { fail } from '../platform/errors/failure.ts'
import type { Context } from '../platform/http/endpoint.ts'
import { created, type Reply, refusal } from '../platform/http/reply.ts'
import type { Settings } from '../settings/register.ts'
import type { PaymentProvider, ProviderOutcome } from './payment-provider.ts'
import { type Refund, settle, viewOf } from './refund.ts'
import { refundSucceeded } from './refund-events.ts'
import { failedRefund, findRefund, settledRefund, succeededRefund } from './refund-store.ts'

type Circumstances = Pick<Context, 'table' | 'settings' | 'now' | 'budget' | 'notice'>

/**
 * Asks the provider for a pending refund and decides what comes of it. It may be asked again and again: the
 * provider's key is the refund's id, so that one payout comes of all of them.
 * @throws DEPENDENCY.timeout, DEPENDENCY.unavailable: the refund stays pending
 */
export async function settleRefund(
  { tenant, id }: { tenant: string; id: string },
  provider: PaymentProvider,
  context: Circumstances,
): Promise<Reply> {
  const { table, settings, now, budget, notice } = context
  const refund = await findRefund(table, tenant, id)
  if (!refund) throw new Error('an intent was committed without its refund')
  if (refund.status !== 'pending') return alreadySettled(refund, settings)
  const outcome = await provider.refund(
    {
      account: accountOf(tenant, settings),
      chargeId: refund.charge_id,
      amount: refund.amount,
      idempotencyKey: `refund-${refund.id}`,
    },
    budget,
  )
  // It had carried out an earlier attempt, of which nobody heard: what came of that is the answer.
  if ('replayed' in outcome && outcome.replayed) notice('PROVIDER_REPLAYED', 'PROVIDER.duplicate')
  // An event of the provider may settle it at this very moment: then that is what became of it.
  const again = () => settleRefund({ tenant, id }, provider, context)
  return { ...decided(refund, outcome, settings, now()), refused: again }
}

function decided(refund: Refund, outcome: ProviderOutcome, settings: Settings, now: number): Reply {
  if (outcome.status === 'refused') {
    const after = settle(refund, { status: 'failed' }, now)
    return refusal(fail(refusals[outcome.reason]), { writes: failedRefund(refund, after, settings) })
  }
  const { status, providerRefundId: provider_refund_id, currency } = outcome
  const after = settle(refund, { status, provider_refund_id, ...(currency && { currency }) }, now)
  const effects =
    status === 'succeeded'
      ? { writes: succeededRefund(refund, after), events: refundSucceeded(after) }
      : { writes: [settledRefund(refund, after)] }
  return created(viewOf(after, settings), effects)
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

/** The provider's account in which a tenant's charges lie: no tenant reaches another's. */
function accountOf(tenant: string, settings: Settings): string {
  const { accounts, prefix } = settings['refunds.account']
  return Object.hasOwn(accounts, tenant) ? (accounts[tenant] as string) : `${prefix}${tenant}`
}
