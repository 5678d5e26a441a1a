import * as v from 'valibot'
import type { ErrorCode } from '../error-catalog.ts'
import { derivedId } from '../platform/base/clock.ts'
import { defineEvent, event, minorUnits, subject } from '../platform/events/event-definition.ts'
import type { OutgoingEvent } from '../platform/events/outbox.ts'

const codeData = {
  ...subject,
  id: v.pipe(v.string(), v.description('The same in all events of a cart and code.')),
  code: v.string(),
  correlation_id: v.string(),
}

export const PromoApplied = defineEvent({
  type: 'promo.applied',
  version: 1,
  summary:
    'The discount of a code on a cart is new or has changed. With the amount 0, the code takes nothing off any more. Consumers keep the event with the highest data.version of a cart and code.',
  data: () =>
    v.strictObject({
      ...codeData,
      correlation_id: v.pipe(
        v.string(),
        v.description(
          'That of the verification or the cart.updated. A cart.updated may change the discounts of several codes, with an event for each: deduplicate by event_id, or by correlation_id, cart_id, code and version together, never by correlation_id alone.',
        ),
      ),
      cart_id: v.string(),
      amount: minorUnits,
      rule_id: v.string(),
      version: v.pipe(
        v.number(),
        v.integer(),
        v.minValue(1),
        v.description('Rises with each change of the discount, not always by 1.'),
      ),
    }),
  carriers: ['cart'],
})

export const PromoRejected = defineEvent({
  type: 'promo.rejected',
  version: 1,
  summary: 'A discount code was rejected. Published once for each correlation_id, cart and code.',
  data: () =>
    v.strictObject({
      ...codeData,
      cart_id: v.pipe(v.nullable(v.string()), v.description('null if the request named no cart.')),
      error_code: v.pipe(v.string(), v.description('The reason, as a code of the error catalog.')),
    }),
  carriers: ['cart', 'verification'],
})

/** The fields of every event of a code. */
interface Promo {
  tenant_id: string
  cart_id: string | null
  code: string
  correlation_id: string
}

/** Returns the event of a new or changed discount. Its id is derived from its correlation id, cart, code and version. */
export function promoApplied(
  promo: Promo & { cart_id: string; amount: number; rule_id: string; version: number },
): OutgoingEvent {
  return event(PromoApplied, { id: idOf(promo), ...promo }, onceFor(promo, promo.version))
}

/** Returns the event of a rejected code. Only subscribers learn the reason; the response does not contain it. */
export function promoRejected(promo: Promo & { error_code: ErrorCode }): OutgoingEvent {
  return event(PromoRejected, { id: idOf(promo), ...promo }, onceFor(promo))
}

function idOf({ tenant_id, cart_id, code }: Promo): string {
  return derivedId(JSON.stringify([tenant_id, cart_id, code]))
}

/** JSON separates the parts, because the ids of other services may contain any character. */
function onceFor({ correlation_id, cart_id, code }: Promo, version?: number): string {
  return JSON.stringify([correlation_id, cart_id, code, version])
}
