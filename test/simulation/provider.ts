import type { ProviderOutcome, ProviderRequest } from '#shared/refunds/payment-provider.ts'

/** What each charge has captured, in minor units. */
export const captured = 1000

/** A payout of the provider. */
export interface Payout {
  account: string
  chargeId: string
  amount: number
  refundId: string
  providerRefundId: string
  status: 'succeeded' | 'pending'
}

/**
 * A payment provider in memory: it pays the same refund of an account once, and repeats its first outcome. Charges that
 * start with `pending` are settled later, `declined` ones are rejected, and `none` does not exist.
 */
export function simulatedProvider() {
  const payouts: Payout[] = []
  const outcomes = new Map<string, ProviderOutcome>()

  function decide({ account, chargeId, amount, refundId }: ProviderRequest): ProviderOutcome {
    if (chargeId.startsWith('none')) return { status: 'rejected', reason: 'no_such_charge' }
    if (chargeId.startsWith('declined')) return { status: 'rejected', reason: 'declined' }
    const paid = payouts.filter((one) => one.account === account && one.chargeId === chargeId)
    const left = paid.reduce((sum, one) => sum - one.amount, captured)
    if (amount > left) return { status: 'rejected', reason: 'exceeds_charge' }
    const status = chargeId.startsWith('pending') ? 'pending' : 'succeeded'
    const providerRefundId = `re_${payouts.length + 1}`
    payouts.push({ account, chargeId, amount, refundId, providerRefundId, status })
    return { status, providerRefundId, currency: 'EUR', replayed: false }
  }

  return {
    payouts,
    refund(request: ProviderRequest): ProviderOutcome {
      const key = `${request.account} ${request.refundId}`
      const known = outcomes.get(key)
      if (known) return known.status === 'rejected' ? known : { ...known, replayed: true }
      const outcome = decide(request)
      outcomes.set(key, outcome)
      return outcome
    },
  }
}
