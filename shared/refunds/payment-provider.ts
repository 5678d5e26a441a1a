import type { Budget } from '../platform/limits/budget.ts'

/** What the provider is asked for: the same refund is paid once, however often and however late it is asked for. */
export interface ProviderRequest {
  /** The provider's account in which the tenant's charges lie. */
  account: string
  chargeId: string
  /** In minor units of the charge's currency. */
  amount: number
  /** The refund: the provider's idempotency key is made of it, and it is kept with the payout. */
  refundId: string
  /** When it may have been asked for first, in milliseconds since 1970: a provider forgets its keys after a while. */
  askedSince: number
}

/** What a provider says for good. */
export type ProviderOutcome =
  | {
      /** `pending` is accepted, and settled by an event later. */
      status: 'succeeded' | 'pending'
      providerRefundId: string
      /** In upper case, where the provider tells it. */
      currency: string | undefined
      /** The provider had carried out this key before, and returned what came of it. */
      replayed: boolean
    }
  | { status: 'refused'; reason: 'no_such_charge' | 'exceeds_charge' | 'declined' }

/** Moves money back (contract, 'POST /v1/refunds'). */
export interface PaymentProvider {
  /**
   * Refunds a charge, or a part of it.
   * @param budget ends the attempts; their number and delays are the contract's retry schedule
   * @throws DEPENDENCY.timeout, DEPENDENCY.unavailable: then nobody knows whether money moved until the same
   * refund is asked for again
   */
  refund(request: ProviderRequest, budget: Budget): Promise<ProviderOutcome>
}
