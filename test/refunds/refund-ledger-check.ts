import { expect } from '@jest/globals'
import { largestId, smallestId } from '#shared/platform/base/clock.ts'
import { pendingPartitionsOf } from '#shared/platform/table/keys.ts'
import type { Refund } from '#shared/refunds/refund.ts'
import { asRefund, type LedgerEntry } from '#shared/refunds/refund-store.ts'
import { eventsOf } from '#test/support/item-events.ts'
import type { FakePaymentProvider } from '../support/payment-provider/payment-provider.ts'
import type { PaidRefund } from '../support/payment-provider/refund-ledger.ts'
import type { Service } from '../support/service.ts'

/** The captured amount of each charge at the fake provider, in minor units. */
const captured = 100_000

/** The refunds of a tenant, in the table and at the provider. */
interface LedgerState {
  refunds: Refund[]
  ledger: LedgerEntry[]
  payouts: PaidRefund[]
  /** The ids of the refunds with a published success. */
  succeededEvents: unknown[]
}

export async function ledgerOf(
  service: Pick<Service, 'items'>,
  provider: FakePaymentProvider,
  tenant: string,
): Promise<LedgerState> {
  const items = await service.items(tenant, 'refund')
  return {
    refunds: items.map(asRefund),
    ledger: (await service.items(tenant, 'ledger')) as unknown as LedgerEntry[],
    payouts: provider.refunds().filter(({ account }) => account === `acct_${tenant}`),
    succeededEvents: items
      .flatMap(eventsOf)
      .flatMap(({ type, data }) => (type === 'refund.succeeded' ? data.id : [])),
  }
}

/** Returns the status of each refund, and the numbers of ledger entries and payouts. */
export function summaryOf({ refunds, ledger, payouts }: LedgerState) {
  return { refunds: refunds.map(({ status }) => status), ledger: ledger.length, payouts: payouts.length }
}

/**
 * Expects no pending refunds. Each successful refund has one payout, one ledger entry with its currency and the provider's
 * id, and one event. There are no others, and no charge is refunded above its captured amount.
 */
export function expectBalanced({ refunds, ledger, payouts, succeededEvents }: LedgerState): void {
  expect(refunds.filter(({ status }) => status === 'pending')).toEqual([])
  const succeeded = refunds.filter(({ status }) => status === 'succeeded')
  expect(ledger).toEqual(
    succeeded.map(({ id: refund_id, charge_id, amount, provider_refund_id }) =>
      expect.objectContaining({
        refund_id,
        charge_id,
        kind: 'payout',
        amount,
        currency: 'EUR',
        provider_refund_id,
      }),
    ),
  )
  expect(succeededEvents).toEqual(succeeded.map(({ id }) => id))
  const paid = payouts.map(({ id, charge, amount }) => `${id} ${charge} ${amount}`)
  const settled = succeeded.map((one) => `${one.provider_refund_id} ${one.charge_id} ${one.amount}`)
  expect(paid.toSorted()).toEqual(settled.toSorted())
  for (const sum of Object.values(sums(payouts))) expect(sum).toBeLessThanOrEqual(captured)
}

function sums(payouts: readonly PaidRefund[]): Record<string, number> {
  const all: Record<string, number> = {}
  for (const { charge, amount } of payouts) all[charge] = (all[charge] ?? 0) + amount
  return all
}

/** Returns the number of pending sagas and of refunds about which the provider must be asked, of all tenants. */
export async function unfinished({ table }: Pick<Service, 'table'>): Promise<number> {
  const range = { low: smallestId, high: largestId, descending: false, limit: 1000 }
  const partitions = [...pendingPartitionsOf('pending-saga'), ...pendingPartitionsOf('unsettled-refund')]
  const reads = partitions.map((partition) => table.readRange({ partition, ...range }))
  return (await Promise.all(reads)).flatMap(({ items }) => items).length
}
