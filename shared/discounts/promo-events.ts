import * as v from 'valibot'
import { defineEvent, event } from '../platform/events/event-definition.ts'
import { minorUnits, subject } from '../platform/events/event-schemas.ts'
import type { OutgoingEvent } from '../platform/events/outbox.ts'

const aboutCode = {
  ...subject,
  cart_id: v.pipe(v.nullable(v.string()), v.description('null where the code was verified without a cart.')),
  code: v.string(),
  correlation_id: v.string(),
}
/** What every event about a code and a cart says. */
export type Promo = v.InferOutput<v.StrictObjectSchema<typeof aboutCode, undefined>>

export const PromoApplied = defineEvent({
  type: 'promo.applied',
  version: 1,
  summary: 'A discount code was applied. Told once for a correlation_id.',
  data: () => v.strictObject({ ...aboutCode, amount: minorUnits, rule_id: v.string() }),
})

export const PromoRejected = defineEvent({
  type: 'promo.rejected',
  version: 1,
  summary: 'A discount code was rejected. Told once for a correlation_id.',
  data: () => v.strictObject({ ...aboutCode, error_code: v.string() }),
})

/** A discount was applied (contract, 'Events named'): idempotent on correlation_id, so its event id is made from it. */
export function promoApplied(promo: Promo & { amount: number; rule_id: string }): OutgoingEvent[] {
  return [event(PromoApplied, { ...promo }, promo.correlation_id)]
}

/** A code was rejected; why is told where the caller is told it, too. */
export function promoRejected(promo: Promo & { error_code: string }): OutgoingEvent[] {
  return [event(PromoRejected, { ...promo }, promo.correlation_id)]
}
