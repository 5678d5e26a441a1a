import type { ProviderReport } from './refund-states.ts'

/** The metadata field of a refund of Stripe's that holds the refund's id. */
export const metadataName = 'refund_id'
/** The one that holds its tenant. The settings may name another account for it since. */
export const tenantMetadataName = 'tenant_id'

/** The meaning of Stripe's statuses. */
export const stripeStatuses: ReadonlyMap<unknown, ProviderReport['status']> = new Map([
  ['succeeded', 'succeeded'],
  ['pending', 'pending'],
  ['requires_action', 'pending'],
  ['failed', 'failed'],
  ['canceled', 'failed'],
])
