import { Webhook } from 'standardwebhooks'

/** The webhook key: senders in the tests sign with it, and the service verifies with it. */
export const webhookSecret = `whsec_${Buffer.from('a key of the tests, long enough').toString('base64')}`

/** Returns the headers of a signed event, created by the reference implementation of Standard Webhooks. */
export function signed(
  body: string,
  { id = JSON.parse(body).event_id as string, at = new Date(), secret = webhookSecret } = {},
): Record<string, string> {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, at, body),
    'Content-Type': 'application/json',
  }
}

/** Returns an event as another service sends it. */
export function eventOf(type: string, data: Record<string, unknown> & { id: string }, more: object = {}) {
  return { event_id: crypto.randomUUID(), type, occurred_at: new Date().toISOString(), data, ...more }
}
