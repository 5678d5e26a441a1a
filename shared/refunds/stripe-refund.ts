import type Stripe from 'stripe'
import type { ProviderRefund } from './provider-refunds.ts'
import type { ProviderReport } from './refund-states.ts'

/** The metadata field of a refund of Stripe's that holds the refund's id. */
export const metadataName = 'refund_id'
/** The one that holds its tenant. The settings may name another account for it since. */
export const tenantMetadataName = 'tenant_id'
/** The one that names the request of the caller. */
export const requestMetadataName = 'request'

/** The meaning of Stripe's statuses. */
export const stripeStatuses: ReadonlyMap<unknown, ProviderReport['status']> = new Map([
  ['succeeded', 'succeeded'],
  ['pending', 'pending'],
  ['requires_action', 'pending'],
  ['failed', 'failed'],
  ['canceled', 'failed'],
])

/** @throws Error for an answer that is no refund, or has a status unknown here */
export function providerRefundOf({
  id,
  metadata,
  charge,
  amount,
  currency,
  status,
  created,
}: Stripe.Refund): ProviderRefund {
  const known = stripeStatuses.get(status)
  if (!known || !Number.isSafeInteger(amount) || !Number.isSafeInteger(created))
    throw new Error('the payment provider returned no refund')
  return {
    id,
    refundId: metadata?.[metadataName],
    tenant: metadata?.[tenantMetadataName],
    requestName: metadata?.[requestMetadataName],
    chargeId: (typeof charge === 'string' ? charge : charge?.id) ?? '',
    amount,
    currency: currency.toUpperCase(),
    status: known,
    createdAt: created * 1000,
  }
}
