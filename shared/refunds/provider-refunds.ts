import type { Budget } from '../platform/base/clock.ts'

/** A refund as the payment provider has it. */
export interface ProviderRefund {
  id: string
  /** The id of the refund that it pays; absent if the service did not request it. */
  refundId: string | undefined
  /** The tenant of that refund, as the payout names it. */
  tenant: string | undefined
  /** The name of the caller's request, as the payout names it. */
  requestName: string | undefined
  chargeId: string
  /** In minor units. */
  amount: number
  /** In upper case. */
  currency: string
  /** `failed` also after it succeeded: the provider took it back. */
  status: 'pending' | 'succeeded' | 'failed'
  /** Milliseconds since 1970, in whole seconds. */
  createdAt: number
}

/** The refunds of an account that the provider created in a time range. */
export interface ProviderRefundRange {
  account: string
  /** Milliseconds since 1970, inclusive. */
  from: number
  /** Milliseconds since 1970, exclusive. */
  to: number
}

/** The refunds of the payment provider, with which the ledger is compared. */
export interface ProviderRefunds {
  /**
   * Yields the refunds of a range, newest first.
   * @throws DEPENDENCY.timeout, DEPENDENCY.unavailable: the refunds that were yielded are not all
   */
  list(range: ProviderRefundRange, budget: Budget): AsyncIterable<ProviderRefund>
  /**
   * Finds one refund by its id at the provider, or else by the refund that it pays.
   * @throws DEPENDENCY.timeout, DEPENDENCY.unavailable
   */
  find(
    refund: { account: string; id: string | undefined; chargeId: string; refundId: string },
    budget: Budget,
  ): Promise<ProviderRefund | undefined>
}
