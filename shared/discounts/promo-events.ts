import type { OutgoingEvent } from '../platform/events/outbox.ts'

/** What every event about a code and a cart says. */
export interface Promo {
  id: string
  tenant_id: string
  cart_id: string | null
  code: string
  correlation_id: string
}

/** A discount was applied (contract, 'Events named'): idempotent on correlation_id, so its event id is made from it. */
export function promoApplied(promo: Promo & { amount: number; rule_id: string }): OutgoingEvent[] {
  return [{ type: 'promo.applied', version: 1, data: { ...promo }, once: promo.correlation_id }]
}

/** A code was rejected; why is told where the caller is told it, too. */
export function promoRejected(promo: Promo & { error_code: string }): OutgoingEvent[] {
  return [{ type: 'promo.rejected', version: 1, data: { ...promo }, once: promo.correlation_id }]
}
