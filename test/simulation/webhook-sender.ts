import { createHmac } from 'node:crypto'
import { webhookSecret } from '#test/support/signed-events.ts'
import type { Client } from './client.ts'

/** Sends an event until it is acknowledged. */
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
  const request = {
    operation: 'webhooks.receive',
    by: undefined,
    method: 'POST',
    path: '/v1/webhooks/events',
    headers,
    body,
  }
  let acknowledged = false
  for (let time = 0; time < times; time += 1) {
    const answer = await client.send(request)
    if (answer?.status !== 202) continue
    acknowledged = true
    client.history.events.set(event.event_id, event)
  }
  return acknowledged
}
