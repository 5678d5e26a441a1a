import { createHmac } from 'node:crypto'
import type { StripeEvent } from '#shared/webhooks/stripe-event.ts'
import { webhookSecret } from '#test/support/signed-events.ts'
import { signedByStripe } from '#test/support/stripe-events.ts'
import type { Client } from './client.ts'

/** Sends an event of another service. @returns whether it was acknowledged */
export async function notify(
  client: Client,
  event: { event_id: string; type: string; occurred_at: string; data: Record<string, unknown> },
  times = 1,
): Promise<boolean> {
  const body = JSON.stringify(event)
  const seconds = String(Math.floor(client.world.scheduler.now / 1000))
  const key = Buffer.from(webhookSecret.slice('whsec_'.length), 'base64')
  const signature = createHmac('sha256', key).update(`${event.event_id}.${seconds}.${body}`).digest('base64')
  const headers = {
    'webhook-id': event.event_id,
    'webhook-timestamp': seconds,
    'webhook-signature': `v1,${signature}`,
    'content-type': 'application/json',
  }
  const request = { operation: 'webhooks.receive', path: '/v1/webhooks/events', headers, body }
  const isKnown = await sendTimes(client, request, times)
  if (isKnown) client.history.events.set(event.event_id, event)
  return isKnown
}

/** Sends an event of Stripe. @returns whether it was acknowledged */
export async function notifyAsStripe(client: Client, event: StripeEvent, times = 1): Promise<boolean> {
  const body = JSON.stringify(event)
  const headers = signedByStripe(body, { at: client.world.scheduler.now })
  const request = { operation: 'webhooks.receive-stripe', path: '/v1/webhooks/stripe', headers, body }
  return sendTimes(client, request, times)
}

async function sendTimes(
  client: Client,
  request: { operation: string; path: string; headers: Record<string, string>; body: string },
  times: number,
): Promise<boolean> {
  const statuses: (number | undefined)[] = []
  for (let time = 0; time < times; time += 1)
    statuses.push((await client.send({ ...request, by: undefined, method: 'POST' }))?.status)
  return statuses.includes(202)
}
