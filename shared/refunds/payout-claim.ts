import type { Key } from '../platform/table/keys.ts'
import type { Put } from '../platform/table/table.ts'

/** The refund that has adopted a payout: one that the provider made for a refund that is lost. */
export interface PayoutClaim {
  tenant: string
  refund_id: string
}

export function claimKey(account: string, providerRefundId: string): Key {
  return { pk: `payout#${account}#${providerRefundId}`, sk: 'claim' }
}

/** Returns the write that adopts a payout. It is rejected if the payout is adopted already. */
export function claimPayout(account: string, providerRefundId: string, claim: PayoutClaim): Put {
  return { item: { ...claimKey(account, providerRefundId), ...claim }, condition: { absent: true } }
}
