import type { Budget } from '../platform/base/clock.ts'
import type { ProviderRefund } from './provider-refunds.ts'

/** A refund request. The same refund is paid once, however often and however late it is requested. */
export interface ProviderRequest {
  /** The provider's account that holds the tenant's charges. */
  account: string
  chargeId: string
  /** In minor units of the charge's currency. */
  amount: number
  /** The id at the provider, once it has accepted the refund. */
  providerRefundId?: string | undefined
  /** The id of the refund, which is stored with the payout. */
  refundId: string
  /** The tenant of the refund, which is stored with the payout, too. */
  tenant: string
  /**
   * The name of the caller's request, which is stored with the payout, too: the same for each refund of the request, as the
   * table may have lost earlier ones. The provider's idempotency key is derived from it.
   */
  requestName: string
  /** The caller's key was used for another request before: the provider's key is derived from the refund's id, not from the request. */
  usesOwnKey: boolean
  /** The time of the first possible request, in milliseconds since 1970: providers expire their keys. */
  requestedSince: number
  /** Payouts of the request since this time belong to it, in milliseconds since 1970. */
  earliestPayoutAt: number
  /**
   * Whether the table may have lost a payout of the request: the payouts of the charge are searched first, because the provider
   * may have forgotten the key, and those of other charges if it refuses the key.
   */
  mayBeLost: boolean
}

/** A provider's answer. */
export type ProviderOutcome =
  | {
      /** `pending` is accepted, and settled later. */
      status: 'succeeded' | 'pending' | 'failed'
      providerRefundId: string
      /** In upper case, if the provider returns it. */
      currency: string | undefined
      /** The provider had already processed this request. */
      replayed: boolean
      /** The payout was looked up now. Otherwise a replayed outcome is as old as the first request. */
      lookedUp?: true
    }
  | {
      status: 'rejected'
      reason: 'no_such_charge' | 'exceeds_charge' | 'declined'
      /** The rest of the charge in minor units, if it is too small and the provider returns it. */
      remaining?: number | undefined
    }

/** A payout that the provider made for the same request of the caller and another refund; or another use of its key. */
export interface EarlierUse {
  status: 'key_used'
  /** The latest one; absent if the provider made none. */
  payout?: ProviderRefund | undefined
}

/** A service that refunds payments. */
export interface PaymentProvider {
  /**
   * Refunds a charge, or a part of it. A refund that the provider has accepted is only looked up.
   * @param budget ends the attempts; their number and delays are fixed
   * @throws DEPENDENCY.timeout, DEPENDENCY.unavailable: whether money moved is unknown until the same refund is
   * requested again
   */
  refund(request: ProviderRequest, budget: Budget): Promise<ProviderOutcome | EarlierUse>
  /**
   * Stores the id of the refund with a payout that another refund has requested. Repeatable.
   * @returns what became of the payout
   * @throws DEPENDENCY.timeout, DEPENDENCY.unavailable
   */
  adopt(providerRefundId: string, request: ProviderRequest, budget: Budget): Promise<ProviderOutcome>
  /**
   * Returns what became of a refund, without requesting it; undefined if the provider does not know it.
   * @throws DEPENDENCY.timeout, DEPENDENCY.unavailable
   */
  find(request: ProviderRequest, budget: Budget): Promise<ProviderOutcome | undefined>
}
