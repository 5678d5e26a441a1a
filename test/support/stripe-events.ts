import Stripe from 'stripe'
import type { StripeEvent } from '#shared/webhooks/stripe-event.ts'

/** The secret of the webhook endpoint at Stripe. */
export const stripeSecret = 'whsec_of_the_tests'

/** Returns the headers of an event that is signed by Stripe's own helper. */
export function signedByStripe(
  payload: string,
  { at = Date.now(), secret = stripeSecret } = {},
): Record<string, string> {
  const timestamp = Math.floor(at / 1000)
  return {
    'Stripe-Signature': Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp }),
    'Content-Type': 'application/json; charset=utf-8',
  }
}

let events = 0

/** Returns an event as Stripe sends it. */
export function stripeEventOf(
  type: string,
  object: { id?: string } & Record<string, unknown>,
  more: Partial<StripeEvent> = {},
): StripeEvent {
  events += 1
  return {
    id: `evt_${events}_${crypto.randomUUID().replaceAll('-', '')}`,
    object: 'event',
    api_version: '2026-10-28',
    created: Math.floor(Date.now() / 1000),
    data: { object },
    livemode: false,
    pending_webhooks: 1,
    request: { id: null, idempotency_key: null },
    type,
    ...more,
  }
}
