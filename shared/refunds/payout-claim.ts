import type { Key } from '../platform/table/keys.ts'
import { create, type Write } from '../platform/table/table.ts'

/** The key of the claim on a payout: a refund here has adopted it. */
export function claimKey(account: string, providerRefundId: string): Key {
  return { pk: `payout#${account}#${providerRefundId}`, sk: 'claim' }
}

/**
 * Claims a payout for the refund that adopts it. It is a part of the transaction that books the payout: a retry of the
 * caller and the command `refunds reconcile --adopt` may meet one payout at once, and only the first of them books it.
 */
export function claimPayout(
  account: string,
  providerRefundId: string,
  refund: { tenant: string; refund_id: string },
): Write {
  return create({ ...claimKey(account, providerRefundId), ...refund }, 'TRANSIENT.error')
}
