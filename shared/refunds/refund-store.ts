import { type Item, keyOf } from '../platform/table/keys.ts'
import { create, remove, replace, type Table, type Write } from '../platform/table/table.ts'
import type { Settings } from '../settings/register.ts'
import type { Refund } from './refund.ts'

/** An immutable ledger entry, one for each refund that succeeded. */
export interface LedgerEntry {
  refund_id: string
  charge_id: string
  /** In minor units. */
  amount: number
  currency?: string
  at: string
}

export function asRefund(item: Item): Refund {
  return item as unknown as Refund
}

export async function findRefund(table: Table, tenant: string, id: string): Promise<Refund | undefined> {
  const item = await table.get(keyOf(tenant, 'refund', id))
  return item && asRefund(item)
}

/** Writes a refund, and its hold on the charge if a charge may be refunded only once. */
export function newRefund(refund: Refund, settings: Settings): Write[] {
  const item = { ...keyOf(refund.tenant_id, 'refund', refund.id), ...refund }
  if (settings['refunds.policy'] === 'within_charge') return [create(item)]
  return [create(item), create({ ...holdKey(refund), refund_id: refund.id }, 'POLICY.refund.repeated')]
}

/** Writes a refund that succeeded and its ledger entry in one transaction. */
export function succeededRefund(before: Refund, after: Refund): Write[] {
  const entry: LedgerEntry = {
    refund_id: after.id,
    charge_id: after.charge_id,
    amount: after.amount,
    ...(after.currency !== undefined && { currency: after.currency }),
    at: after.updated_at,
  }
  return [
    settledRefund(before, after),
    create({ ...keyOf(after.tenant_id, 'ledger', after.id), ...entry }, 'TRANSIENT.error'),
  ]
}

/** Writes a refund that the provider refused, and releases its hold on the charge. */
export function failedRefund(before: Refund, after: Refund, settings: Settings): Write[] {
  const settled = settledRefund(before, after)
  if (settings['refunds.policy'] === 'within_charge') return [settled]
  return [settled, remove(holdKey(after), { refund_id: after.id }, 'TRANSIENT.error')]
}

/** Replaces a refund if it has not changed since it was read. */
export function settledRefund(before: Refund, after: Refund): Write {
  const item = { ...keyOf(after.tenant_id, 'refund', after.id), ...after }
  return replace(item, { version: before.version }, 'TRANSIENT.error')
}

function holdKey({ tenant_id, charge_id }: Refund) {
  return keyOf(tenant_id, 'refund_hold', charge_id)
}
