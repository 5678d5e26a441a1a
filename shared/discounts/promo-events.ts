import * as v from 'valibot'
import type { ErrorCode } from '../error-catalog.ts'
import { defineEvent, event, minorUnits, subject } from '../platform/events/event-definition.ts'
import type { OutgoingEvent } from '../platform/events/outbox.ts'

const codeData = {
  ...subject,
  code: v.string(),
  correlation_id: v.string(),
}
/** The fields of every verification event. */
type Promo = v.InferOutput<v.StrictObjectSchema<typeof codeData, undefined>>

export const PromoApplied = defineEvent({
  type: 'promo.applied',
  version: 1,
  summary: 'A discount code was applied. Published once for each correlation_id.',
  data: () => v.strictObject({ ...codeData, cart_id: v.string(), amount: minorUnits, rule_id: v.string() }),
})

export const PromoRejected = defineEvent({
  type: 'promo.rejected',
  version: 1,
  summary: 'A discount code was rejected. Published once for each correlation_id.',
  data: () =>
    v.strictObject({
      ...codeData,
      cart_id: v.pipe(v.nullable(v.string()), v.description('null if the request named no cart.')),
      error_code: v.pipe(v.string(), v.description('The reason, as a code of the error catalog.')),
    }),
})

/**
 * Returns the event of an applied discount. Its id is derived from correlation_id, so subscribers see duplicates as
 * one.
 */
export function promoApplied(
  promo: Promo & { cart_id: string; amount: number; rule_id: string },
): OutgoingEvent[] {
  return [event(PromoApplied, { ...promo }, promo.correlation_id)]
}

/** Returns the event of a rejected code. Only subscribers learn the reason; the response does not contain it. */
export function promoRejected(
  promo: Promo & { cart_id: string | null; error_code: ErrorCode },
): OutgoingEvent[] {
  return [event(PromoRejected, { ...promo }, promo.correlation_id)]
}
