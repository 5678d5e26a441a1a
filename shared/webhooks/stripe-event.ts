import * as v from 'valibot'
import { isId, timestamp } from '../platform/base/clock.ts'
import { wholeNumber } from '../platform/formats/text.ts'
import {
  metadataName,
  requestMetadataName,
  stripeStatuses,
  tenantMetadataName,
} from '../refunds/stripe-refund.ts'
import { perSettings } from '../settings/per-settings.ts'
import type { WebhookEvent } from './webhook-event.ts'

const name = v.pipe(v.string(), v.minLength(1), v.maxLength(255), v.regex(/^[\x21-\x7e]+$/))
/** The last second of the year 9999. */
const lastSecond = 253_402_300_799

/** The body of POST /v1/webhooks/stripe. Stripe adds fields at any time, so all further ones are accepted. */
export const stripeEvent = perSettings(() => {
  const fields = {
    id: name,
    type: name,
    created: wholeNumber(0, lastSecond),
    livemode: v.boolean(),
    account: v.exactOptional(name),
    data: v.pipe(
      v.objectWithRest(
        { object: v.pipe(v.objectWithRest({}, v.unknown()), v.title('StripeObject')) },
        v.unknown(),
      ),
      v.title('StripeEventData'),
    ),
  }
  return v.pipe(v.objectWithRest(fields, v.unknown()), v.title('StripeEvent'))
})
export type StripeEvent = v.InferOutput<ReturnType<typeof stripeEvent>>

/** What the service reads of Stripe's refund, in the data of an event. */
const StripeRefund = v.object({
  id: name,
  charge: name,
  amount: v.pipe(v.number(), v.safeInteger()),
  currency: v.pipe(v.string(), v.regex(/^[a-z]{3}$/)),
  status: v.pipe(
    v.string(),
    v.check((status) => stripeStatuses.has(status)),
  ),
  metadata: v.object({
    [metadataName]: v.pipe(v.string(), v.check(isId)),
    [tenantMetadataName]: name,
    [requestMetadataName]: name,
  }),
})

/** The data of a stored event of Stripe. */
export const StoredData = v.object({
  /** The id of its object; empty if it has none. */
  id: v.string(),
  account: v.exactOptional(v.string()),
  livemode: v.boolean(),
  /** Absent if the object is not a refund with the id of one of this service. */
  refund: v.exactOptional(StripeRefund),
})

/**
 * Returns an event of Stripe in the form of other events. Only what a handler reads is kept: the objects of Stripe may name
 * people.
 */
export function storedForm({
  id,
  type,
  created,
  livemode,
  account,
  data: { object },
}: StripeEvent): WebhookEvent {
  const refund = v.safeParse(StripeRefund, object)
  const data: v.InferOutput<typeof StoredData> = {
    id: v.is(name, object.id) ? object.id : '',
    livemode,
    ...(account !== undefined && { account }),
    ...(refund.success && { refund: refund.output }),
  }
  return { event_id: id, type, occurred_at: timestamp(created * 1000), data }
}
