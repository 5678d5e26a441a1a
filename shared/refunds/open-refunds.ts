import { timeOf } from '../platform/base/clock.ts'
import { type Key, pendingKeyOf } from '../platform/table/keys.ts'
import { put, type Write } from '../platform/table/table.ts'
import type { Refund } from './refund.ts'

/** The entry of a refund about which the provider must be asked. It has the refund's id as its sort key. */
export interface OpenRefund extends Key {
  tenant: string
  /** The earliest time of the next question, in milliseconds since 1970. */
  next_check_at: number
}

const dayMilliseconds = 24 * 3600 * 1000

/**
 * Returns whether only the provider can complete a refund: one that it accepted and has not settled, or one that an event
 * settled without the provider's facts. A pending refund that it has not accepted has its saga.
 */
export function isOpen({ status, provider_refund_id, currency }: Refund): boolean {
  if (status === 'pending') return provider_refund_id !== undefined
  return status !== 'failed' && (provider_refund_id === undefined || currency === undefined)
}

/** Writes the entry of a refund that a change opens, or removes that of one that it closes. */
export function openEntryWrites(before: Refund, after: Refund): Write[] {
  if (isOpen(before) === isOpen(after)) return []
  const key = pendingKeyOf('open-refund', after.id)
  return isOpen(after)
    ? [put({ ...key, tenant: after.tenant_id, next_check_at: 0 })]
    : [{ remove: key, condition: 'none', onFailure: 'INTERNAL.unexpected' }]
}

/**
 * Writes the time of the next question about a refund that stays open: after as long as it has existed, and after a day at
 * most.
 */
export function nextCheck(refund: Refund, now: number): Write {
  const next_check_at = now + Math.min(dayMilliseconds, now - timeOf(refund.id))
  const condition = { matches: { tenant: refund.tenant_id } }
  return {
    update: pendingKeyOf('open-refund', refund.id),
    set: { next_check_at },
    condition,
    onFailure: 'TRANSIENT.error',
  }
}
