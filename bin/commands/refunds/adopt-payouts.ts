import { firstIdAt, isId, lastIdAt, newId, timeOf } from '#shared/platform/base/clock.ts'
import { commitDecision } from '#shared/platform/idempotency/commit-decision.ts'
import type { Revisable } from '#shared/platform/idempotency/decision.ts'
import { readAll } from '#shared/platform/listing/merge.ts'
import { partitionsOf } from '#shared/platform/table/keys.ts'
import { claimKey, claimPayout } from '#shared/refunds/payout-claim.ts'
import type { ProviderRefund } from '#shared/refunds/provider-refunds.ts'
import type { Sources } from '#shared/refunds/reconcile.ts'
import { makeRefund, type Refund } from '#shared/refunds/refund.ts'
import { asRefund, chargeLockWrites, createdRefund, findRefund } from '#shared/refunds/refund-store.ts'
import { reportOf, settleRefund } from '#shared/refunds/settle-refund.ts'
import type { Settings } from '#shared/settings/register.ts'
import type { Operator } from '../stack/operator-audit.ts'
import { type ComparedRange, stoppedError } from './refunds.ts'

interface Adopting extends Pick<Sources, 'providerRefunds' | 'budget'> {
  operator: Operator
  settings: Settings
}

/** A payout that no refund here has. */
interface MissingPayout extends ProviderRefund {
  account: string
}

/** A payout that became a refund here, as it is printed. */
interface AdoptedPayout extends Pick<Refund, 'charge_id' | 'created_at' | 'status' | 'amount' | 'currency'> {
  finding: 'adopted'
  refund_id: string
  provider_refund_id: string
}

/** The effects of an adoption, and the refund after it: none if the payout is booked, or failed. */
interface Adoption extends Revisable<Adoption> {
  refund?: Refund
}

/** How much the clock of the provider may be behind. A longer range books nothing twice. */
const clockMilliseconds = 60_000
/** An interrupted refund is tried for 30 days, so its payout may be that much younger. */
const oldestMilliseconds = 31 * 24 * 3600 * 1000

/**
 * Returns the payouts of a range that the service requested for a tenant and no refund here has, oldest first in each account. The owner of
 * an account can edit the metadata of a payout, so those are left out that a refund here has under another id.
 */
export async function missingPayouts(
  { tenant, accounts, from, to }: Omit<ComparedRange, 'lost'>,
  { operator: { table, clock }, providerRefunds, budget }: Adopting,
): Promise<MissingPayout[]> {
  const missing = new Map<string, MissingPayout>()
  try {
    for (const account of accounts) {
      const listed: MissingPayout[] = []
      for await (const providerRefund of providerRefunds.list(
        { account, from: from - clockMilliseconds, to },
        budget,
      ))
        if (isOf(tenant, providerRefund, clock.now()) && providerRefund.status !== 'failed')
          listed.push({ ...providerRefund, account })
      for (const payout of listed.reverse()) missing.set(payout.id, payout)
    }
    const ids = { low: firstIdAt(from - oldestMilliseconds), high: lastIdAt(clock.now()) }
    const partitions = partitionsOf(tenant, 'refund')
    for await (const items of readAll(table, partitions, { ...ids, descending: false, atOnce: 500 }))
      for (const { provider_refund_id } of items.map(asRefund))
        if (provider_refund_id !== undefined) missing.delete(provider_refund_id)
  } catch (thrown) {
    throw stoppedError('the adoption', thrown)
  }
  return [...missing.values()]
}

/**
 * Books payouts that no refund here has. Each one is a transaction: the refund with its event, its ledger entry, the claim
 * on the payout, and the audit record of the operator. A payout that is pending gets an entry, by which the service asks for
 * its outcome. It can be repeated, also while callers repeat their requests.
 */
export async function* adoptPayouts(
  tenant: string,
  payouts: readonly MissingPayout[],
  adopting: Adopting,
): AsyncGenerator<AdoptedPayout> {
  try {
    for (const payout of payouts) {
      const refund = await adopt(payout, { tenant, account: payout.account, ...adopting })
      if (refund) yield adoptedPayout(refund, payout.id)
    }
  } catch (thrown) {
    throw stoppedError('the adoption', thrown)
  }
}

function adoptedPayout(refund: Refund, provider_refund_id: string): AdoptedPayout {
  const { id: refund_id, charge_id, created_at, status, amount, currency } = refund
  const printed = { refund_id, provider_refund_id, charge_id, created_at, status, amount }
  return { finding: 'adopted', ...printed, ...(currency !== undefined && { currency }) }
}

interface AdoptingFor extends Adopting {
  tenant: string
  account: string
}

/** Returns the refund of a payout that was booked now. */
async function adopt(
  { id, chargeId, refundId = '' }: ProviderRefund,
  adopting: AdoptingFor,
): Promise<Refund | undefined> {
  const { operator, tenant, account, providerRefunds, budget } = adopting
  const { table, clock, name: sub } = operator
  const asked = clock.now()
  // Somebody was asked since the payout was listed, and a retry may have adopted it.
  const providerRefund = await providerRefunds.find({ account, id, chargeId, refundId }, budget)
  if (!providerRefund) return undefined
  const correlation = { id: newId(clock), trace: {} }
  const context = { table, clock, correlation, caller: { sub, tenant, role: undefined } }
  const adoption = await adoptionOf(providerRefund, asked, adopting)
  const committed = await commitDecision(context, adoption, ({ refund: result }) => ({ result }))
  return 'result' in committed ? committed.result : undefined
}

/** @param asked the time at which the provider was asked about the payout, in milliseconds since 1970 */
async function adoptionOf(
  providerRefund: ProviderRefund,
  asked: number,
  adopting: AdoptingFor,
): Promise<Adoption> {
  const { operator, tenant, account, settings } = adopting
  const { table, clock } = operator
  const {
    id: provider_refund_id,
    refundId: id,
    chargeId: charge_id,
    amount,
    currency,
    status,
    requestName: request_name,
  } = providerRefund
  if (id === undefined || request_name === undefined) return {}
  if (!isOf(tenant, providerRefund, clock.now()) || status === 'failed') return {}
  if (await table.get(claimKey(account, provider_refund_id))) return {}
  const known = await findRefund(table, tenant, id)
  if (known && !lacks(known, providerRefund, account)) return {}
  const before = known ?? makeRefund({ charge_id, amount }, { id, tenant_id: tenant, account, request_name })
  const answer = { status, providerRefundId: provider_refund_id, currency, replayed: false }
  // The operator sees what is booked, so nothing else has to be raised.
  const context = { table, settings, now: clock.now(), alert: () => {} }
  const { refund, effects } = await settleRefund(before, reportOf(answer, before, asked), context)
  const [first, ...others] = effects.writes ?? []
  if (!first) return {}
  const written = known ? first : createdRefund(refund, 'TRANSIENT.error')
  // A settlement has the lock of a refund that is paid.
  const locks = refund.status === 'pending' ? await chargeLockWrites(refund, context) : []
  const claim = claimPayout(account, provider_refund_id, { tenant, refund_id: id })
  const after = { status: refund.status, charge_id, amount, provider_refund_id }
  return {
    refund,
    ...effects,
    writes: [written, ...others, ...locks, { ...claim, onFailure: 'TRANSIENT.error' }],
    audit: {
      action: 'refund.adopt',
      target: `refund/${id}`,
      ...(known && { before: { status: known.status } }),
      after,
    },
    // A retry of the caller, or an event of the provider, was faster.
    onConflict: () => adoptionOf(providerRefund, asked, adopting),
  }
}

/** Returns whether the service requested a payout for a tenant. An id of the future would be above all pages of a list. */
function isOf(
  tenant: string,
  { refundId, tenant: named, requestName }: ProviderRefund,
  now: number,
): boolean {
  const isNamed = named === tenant && requestName !== undefined
  return isNamed && refundId !== undefined && isId(refundId) && timeOf(refundId) <= now
}

/** Returns whether a payout is that of a refund here which was never paid. */
function lacks(refund: Refund, { chargeId, amount, status }: ProviderRefund, account: string): boolean {
  const isItsOwn = refund.account === account && refund.charge_id === chargeId && refund.amount === amount
  const isUnpaid = refund.status === 'pending' || (refund.status === 'failed' && status === 'succeeded')
  return isItsOwn && isUnpaid && refund.provider_refund_id === undefined
}
