import { createHmac } from 'node:crypto'
import { route as receiveEvent } from '#functions/webhooks/receive-event/route.ts'
import { webhookKeys } from '#shared/platform/identity/signature.ts'
import { pathOf } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { reach } from './reach.ts'

/** An event of another service. */
interface SentEvent {
  event_id: string
  type: string
  occurred_at: string
  data: Record<string, unknown>
}

/** The deployment that receives an event, with the secret that signs it. */
export interface Receiver {
  baseUrl: string
  secret: string
  settings: Settings
}

/** Sends an event that is signed with the first key of the secret, as another service would. */
export function sendEvent(event: SentEvent, { baseUrl, secret, settings }: Receiver): Promise<Response> {
  const { idHeader, timestampHeader, signatureHeader, digest, prefix } = settings['webhooks.scheme']
  const body = JSON.stringify(event)
  const timestamp = String(Math.floor(Date.now() / 1000))
  const [key = Buffer.alloc(0)] = webhookKeys(secret)
  const signed = createHmac(digest, key).update(`${event.event_id}.${timestamp}.${body}`)
  return reach(`${baseUrl}${pathOf(receiveEvent, settings)}`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      [idHeader]: event.event_id,
      [timestampHeader]: timestamp,
      [signatureHeader]: `${prefix}${signed.digest('base64')}`,
    },
    body,
  })
}
