import { timeOf, timestamp } from '../platform/base/clock.ts'
import type { ProviderRefund } from './provider-refunds.ts'
import type { Refund } from './refund.ts'
import type { LedgerEntry } from './refund-store.ts'

/** What the service has recorded about one refund. */
export interface RefundLedger {
  refund?: Refund | undefined
  /** Of this refund only. */
  entries: readonly LedgerEntry[]
}

/** The kinds of differences between the provider and the ledger. */
export type Difference =
  /** The provider paid it, and the ledger has no entry. */
  | 'not_in_ledger'
  /** The ledger has an entry, and the provider has no such refund. */
  | 'not_at_provider'
  /** The provider has a further payout for a refund whose payout is in the ledger. */
  | 'paid_twice'
  /** Amount, currency, charge or the provider’s id differ, or the payout names another refund. */
  | 'fields_differ'
  /** The provider took the payout back, and the ledger has no reversal. */
  | 'not_reversed'
  /** The ledger has a reversal, and the provider paid the refund. */
  | 'only_reversed_here'
  /** The ledger has a payout that is still pending at the provider. */
  | 'pending_at_provider'
  /** The provider has a final outcome, and the refund is still pending here. */
  | 'pending_here'

/**
 * Compares one refund of the provider with the same refund here.
 * @param providerRefund absent if the provider does not have it
 * @returns undefined if both agree, or if the provider's outcome is not final
 */
export function differenceOf(
  providerRefund: ProviderRefund | undefined,
  { refund, entries }: RefundLedger,
): Difference | undefined {
  const payout = entries.find(({ kind }) => kind === 'payout')
  const reversal = entries.find(({ kind }) => kind === 'reversal')
  if (!providerRefund) return payout && 'not_at_provider'
  if (isFurtherPayout(providerRefund, { entries }))
    return providerRefund.status === 'failed' ? undefined : 'paid_twice'
  if (!payout) {
    if (providerRefund.status === 'pending') return undefined
    if (refund?.status === 'pending') return 'pending_here'
    return providerRefund.status === 'succeeded' ? 'not_in_ledger' : undefined
  }
  if (entries.some((entry) => !agrees(entry, providerRefund))) return 'fields_differ'
  if (providerRefund.status === 'succeeded') return reversal && 'only_reversed_here'
  if (reversal) return undefined
  return providerRefund.status === 'failed' ? 'not_reversed' : 'pending_at_provider'
}

/** Returns whether the ledger's payout of the same refund is another one. */
export function isFurtherPayout({ id }: ProviderRefund, { entries }: Pick<RefundLedger, 'entries'>): boolean {
  return entries.some(
    ({ provider_refund_id }) => provider_refund_id !== undefined && provider_refund_id !== id,
  )
}

function agrees(entry: LedgerEntry, providerRefund: ProviderRefund): boolean {
  const { id, chargeId, amount, currency, refundId = entry.refund_id } = providerRefund
  const expected = entry.kind === 'payout' ? amount : -amount
  return (
    entry.refund_id === refundId &&
    entry.amount === expected &&
    entry.currency === currency &&
    entry.charge_id === chargeId &&
    entry.provider_refund_id === id
  )
}

/** A difference, or a payout that the service did not request, as it is printed. Amounts are in minor units. */
export interface Finding {
  finding: Difference | 'unrelated'
  refund_id: string | undefined
  provider_refund_id: string | undefined
  charge_id: string | undefined
  /** The time at the provider, or of the refund here if the provider does not have it. */
  created_at: string
  /** The status at the provider, and here. */
  provider_status: string | undefined
  status: string | undefined
  provider_amount: number | undefined
  provider_currency: string | undefined
  /** The sum of the ledger's entries. */
  ledger_amount: number | undefined
  ledger_currency: string | undefined
}

export function findingOf(
  finding: Finding['finding'],
  providerRefund: ProviderRefund | undefined,
  ledger: RefundLedger,
): Finding {
  const { refund, entries } = ledger
  const [entry] = entries
  return {
    finding,
    refund_id: providerRefund?.refundId ?? entry?.refund_id,
    provider_refund_id: providerRefund?.id ?? entry?.provider_refund_id,
    charge_id: providerRefund?.chargeId ?? entry?.charge_id,
    created_at: timestamp(providerRefund?.createdAt ?? timeOf(entry?.refund_id ?? '')),
    provider_status: providerRefund?.status,
    status: refund?.status,
    provider_amount: providerRefund?.amount,
    provider_currency: providerRefund?.currency,
    ledger_amount: entry && netOf(entries),
    ledger_currency: entry?.currency,
  }
}

/** Returns the sum of ledger entries in minor units. */
export function netOf(entries: readonly LedgerEntry[]): number {
  return entries.reduce((sum, { amount }) => sum + amount, 0)
}
