import { expect, test } from '@jest/globals'
import { timestamp } from '#shared/platform/base/clock.ts'
import { type Difference, differenceOf, type RefundLedger } from '#shared/refunds/difference.ts'
import type { ProviderRefund } from '#shared/refunds/provider-refunds.ts'
import type { Refund } from '#shared/refunds/refund.ts'
import type { LedgerEntry } from '#shared/refunds/refund-store.ts'
import { idAt } from '#test/support/ids.ts'

const id = idAt(0)
const at = timestamp(0)
const paid: ProviderRefund = {
  id: 're_1',
  refundId: id,
  tenant: 'acme',
  requestName: 'request-1',
  chargeId: 'ch_1',
  amount: 700,
  currency: 'EUR',
  status: 'succeeded',
  createdAt: 0,
}
const pending: ProviderRefund = { ...paid, status: 'pending' }
const failed: ProviderRefund = { ...paid, status: 'failed' }
const payout: LedgerEntry = {
  account: 'acct_1',
  refund_id: id,
  charge_id: 'ch_1',
  kind: 'payout',
  amount: 700,
  currency: 'EUR',
  provider_refund_id: 're_1',
  at,
}
const reversal: LedgerEntry = { ...payout, kind: 'reversal', amount: -700 }
const { provider_refund_id: _, ...payoutWithoutId } = payout
const { currency: __, ...payoutWithoutCurrency } = payout

function ledger(entries: LedgerEntry[], status?: Refund['status']): RefundLedger {
  if (status === undefined) return { entries }
  const times = { created_at: at, updated_at: at }
  return {
    entries,
    refund: {
      id,
      tenant_id: 'acme',
      charge_id: 'ch_1',
      amount: 700,
      account: 'acct_1',
      request_name: 'request-1',
      status,
      ...times,
      version: 1,
    },
  }
}

test.each<[string, ProviderRefund | undefined, RefundLedger]>([
  ['a payout in both', paid, ledger([payout], 'succeeded')],
  ['a payout that was taken back in both', failed, ledger([payout, reversal])],
  ['a refund that is pending on both sides', pending, ledger([], 'pending')],
  ['a refund that failed on both sides', failed, ledger([], 'failed')],
  ['a refund that failed here and may still be paid', pending, ledger([], 'failed')],
  ['a refund that is unknown on both sides', undefined, ledger([], 'pending')],
  ['a further payout that failed', { ...failed, id: 're_2' }, ledger([payout])],
  ['a reversal that the provider still reports as pending', pending, ledger([payout, reversal])],
])('%s is no difference', (_, record, known) => {
  expect(differenceOf(record, known)).toBeUndefined()
})

test.each<[Difference, string, ProviderRefund | undefined, RefundLedger]>([
  ['not_in_ledger', 'a payout of an unknown refund', paid, ledger([])],
  ['not_in_ledger', 'a payout of a refund that failed here', paid, ledger([], 'failed')],
  ['not_in_ledger', 'a payout of a refund that succeeded without an entry', paid, ledger([], 'succeeded')],
  ['not_at_provider', 'an entry without a payout', undefined, ledger([payout])],
  ['not_at_provider', 'an entry and its reversal without a payout', undefined, ledger([payout, reversal])],
  ['paid_twice', 'a second payout', { ...paid, id: 're_2' }, ledger([payout])],
  ['paid_twice', 'a second payout that is pending', { ...pending, id: 're_2' }, ledger([payout])],
  ['paid_twice', 'a second payout after a reversal', { ...paid, id: 're_2' }, ledger([payout, reversal])],
  ['fields_differ', 'another amount', { ...paid, amount: 701 }, ledger([payout])],
  ['fields_differ', 'another currency', { ...paid, currency: 'USD' }, ledger([payout])],
  ['fields_differ', 'another charge', { ...paid, chargeId: 'ch_2' }, ledger([payout])],
  ['fields_differ', 'an entry without a currency', paid, ledger([payoutWithoutCurrency])],
  ['fields_differ', 'an entry without the id of the provider', paid, ledger([payoutWithoutId])],
  ['fields_differ', 'a reversal of another amount', failed, ledger([payout, { ...reversal, amount: -699 }])],
  ['not_reversed', 'a payout that only the provider took back', failed, ledger([payout], 'succeeded')],
  ['only_reversed_here', 'a payout that was taken back only here', paid, ledger([payout, reversal])],
  ['pending_at_provider', 'an entry of a pending payout', pending, ledger([payout])],
  ['pending_here', 'a payout of a refund that is pending here', paid, ledger([], 'pending')],
  ['pending_here', 'a failure of a refund that is pending here', failed, ledger([], 'pending')],
])('%s: %s', (difference, _, record, known) => {
  expect(differenceOf(record, known)).toBe(difference)
})
