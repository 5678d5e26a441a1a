import { newId } from '#shared/platform/base/clock.ts'
import { commitDecision } from '#shared/platform/idempotency/commit-decision.ts'
import type { Effects } from '#shared/platform/idempotency/decision.ts'
import { asIdempotencyRecord } from '#shared/platform/idempotency/idempotency-record.ts'
import { readAll } from '#shared/platform/listing/merge.ts'
import { partitionsOf } from '#shared/platform/table/keys.ts'
import type { Write } from '#shared/platform/table/table.ts'
import { claimKey, claimPayout } from '#shared/refunds/payout-claim.ts'
import type { Refund } from '#shared/refunds/refund.ts'
import type { ProviderReport } from '#shared/refunds/refund-states.ts'
import { asRefund, findRefund } from '#shared/refunds/refund-store.ts'
import { settleRefund } from '#shared/refunds/settle-refund.ts'
import type { Settings } from '#shared/settings/register.ts'
import type { Operator } from '../stack/operator-audit.ts'
import { allSortKeys } from '../tenants/tenant-data.ts'
import { pendingSagasOf, tryNow } from './pending-sagas.ts'

/** What an operator found out about a refund at the payment provider. */
export type LookedUpOutcome =
  | { outcome: 'failed'; providerRefundId?: string }
  | { outcome: 'paid'; providerRefundId: string; currency: string }

/**
 * Ends a pending refund by what an operator found out, as a report of the provider would. The finding has no time, so
 * whatever the provider reports later counts. Its saga, if it was interrupted, is made due: the next run of the sweep stores
 * the response for its caller.
 * @throws Error if the tenant has no such refund, if it is not pending, or if the payout is that of another refund
 */
export async function settleByOperator(
  operator: Operator,
  { tenant, id, settings, ...finding }: { tenant: string; id: string; settings: Settings } & LookedUpOutcome,
): Promise<Refund> {
  const { table, clock, name: sub } = operator
  const context = { table, settings, now: clock.now(), alert: () => {} }
  const correlation = { id: newId(clock), trace: {} }
  const found = await commitDecision(
    { table, clock, correlation, caller: undefined },
    await decide(),
    ({ refund }) => ({ result: refund }),
  )
  if ('existing' in found) throw new Error('a decision without a guard has no existing item')
  await tryNow(operator, await sagasOf(operator, found.result))
  return found.result

  async function decide(): Promise<Settled> {
    const before = await findRefund(table, tenant, id)
    if (!before) throw new Error(`the tenant has no such refund: ${id}`)
    if (before.status !== 'pending') throw new Error(`the refund is not pending: it is ${before.status}`)
    checkFinding(before, finding)
    const { refund, effects } = await settleRefund(before, operatorReport(finding), context)
    const actor = { sub, tenant, role: undefined }
    return {
      refund,
      ...effects,
      writes: [...(effects.writes ?? []), ...(await claimOf(before, finding))],
      ...(effects.audit && { audit: { ...effects.audit, actor } }),
      onConflict: decide,
    }
  }

  /** Returns the claim of the payout that was found. @throws Error if it is that of another refund */
  async function claimOf({ account }: Refund, finding: LookedUpOutcome): Promise<Write[]> {
    if (finding.outcome === 'failed') return []
    const payout = finding.providerRefundId
    const claim = await table.get(claimKey(account, payout))
    const holder = claim?.refund_id ?? (await refundWith(payout))
    if (holder === id && claim) return []
    if (holder !== id && holder !== undefined)
      throw new Error(`the payout ${payout} is that of the refund ${holder}`)
    return [{ ...claimPayout(account, payout, { tenant, refund_id: id }), onFailure: 'TRANSIENT.error' }]
  }

  /** Returns the refund that has a payout. It reads all of the tenant: a refund that the provider answered claims none. */
  async function refundWith(payout: string): Promise<string | undefined> {
    const range = { ...allSortKeys, atOnce: 500 }
    for await (const items of readAll(table, partitionsOf(tenant, 'refund'), range))
      for (const refund of items.map(asRefund)) if (refund.provider_refund_id === payout) return refund.id
    return undefined
  }
}

/** @throws Error if what is known of a refund contradicts a finding */
function checkFinding({ provider_refund_id, currency }: Refund, finding: LookedUpOutcome): void {
  if (finding.outcome === 'failed') {
    if (provider_refund_id === undefined || provider_refund_id === finding.providerRefundId) return
    throw new Error(
      `the provider has accepted the refund as ${provider_refund_id}: wait for its outcome. If the provider shows that it failed, repeat the command with --provider-refund-id ${provider_refund_id}`,
    )
  }
  if (provider_refund_id !== undefined && provider_refund_id !== finding.providerRefundId)
    throw new Error(`the refund has another payout at the provider: ${provider_refund_id}`)
  if (currency !== undefined && currency !== finding.currency)
    throw new Error(`the refund has another currency: ${currency}`)
}

interface Settled extends Effects {
  refund: Refund
  onConflict: () => Promise<Settled>
}

function operatorReport(finding: LookedUpOutcome): ProviderReport {
  if (finding.outcome === 'failed') return { status: 'failed' }
  return {
    status: 'succeeded',
    provider_refund_id: finding.providerRefundId,
    currency: finding.currency,
  }
}

/** Returns the pending sagas whose state is a refund. */
async function sagasOf(operator: Operator, { id, tenant_id }: Refund) {
  const entries = await pendingSagasOf(operator, tenant_id)
  const records = await Promise.all(entries.map(({ record }) => operator.table.get(record)))
  return entries.filter((_, at) => {
    const record = records[at] && asIdempotencyRecord(records[at])
    return record?.state === 'pending' && record.saga.state.id === id
  })
}
