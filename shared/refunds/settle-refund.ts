import type { ErrorCode } from '../platform/errors/catalogue.ts'
import { fail } from '../platform/errors/failure.ts'
import type { Context } from '../platform/http/endpoint.ts'
import { created, type Reply, refusal } from '../platform/http/reply.ts'
import { timeOf } from '../platform/ids/uuid-v7.ts'
import type { Settings } from '../settings/register.ts'
import type { PaymentProvider, ProviderOutcome } from './payment-provider.ts'
import { type Refund, settle, viewOf } from './refund.ts'
import { refundSucceeded } from './refund-events.ts'
import { failedRefund, findRefund, settledRefund, succeededRefund } from './refund-store.ts'

type Circumstances = Pick<Context, 'table' | 'settings' | 'now' | 'budget' | 'notice'>

/** So long after it was made, hardly anything but its own request has touched a refund. */
const freshMilliseconds = 10_000

/**
 * Asks the provider for a refund and decides what comes of it. It may be asked again and again: the refund's id goes
 * with the request, so that one payout comes of all of them.
 * @param made the refund as its intent recorded it
 * @throws DEPENDENCY.timeout, DEPENDENCY.unavailable: the refund stays pending
 */
export async function settleRefund(
  made: Refund,
  provider: PaymentProvider,
  context: Circumstances,
): Promise<Reply> {
  const isFresh = context.now() - timeOf(made.id) < freshMilliseconds
  return settleFrom(isFresh ? made : await currentRefund(made, context), provider, context)
}

async function settleFrom(refund: Refund, provider: PaymentProvider, context: Circumstances): Promise<Reply> {
  const { settings, now, budget, notice } = context
  if (refund.status !== 'pending') return alreadySettled(refund, settings)
  const outcome = await provider.refund(
    {
      account: accountOf(refund.tenant_id, settings),
      chargeId: refund.charge_id,
      amount: refund.amount,
      refundId: refund.id,
      askedSince: timeOf(refund.id),
    },
    budget,
  )
  // It had carried out an earlier attempt, of which nobody heard: what came of that is the answer.
  if ('replayed' in outcome && outcome.replayed) notice('PROVIDER_REPLAYED', 'PROVIDER.duplicate')
  // It was settled meanwhile, by an event of the provider perhaps: then that is what became of it.
  const refused = async () => settleFrom(await currentRefund(refund, context), provider, context)
  return { ...decided(refund, outcome, settings, now()), refused }
}

async function currentRefund({ tenant_id, id }: Refund, { table }: Circumstances): Promise<Refund> {
  const refund = await findRefund(table, tenant_id, id)
  if (!refund) throw new Error('an intent was committed without its refund')
  return refund
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
