import { route as receiveEvent } from '#functions/webhooks/receive-event/route.ts'
import { pathOf } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { signingHeaders } from '#shared/subscribers/signing-secret.ts'
import { reach } from '../stack/reach.ts'

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
  const body = JSON.stringify(event)
  const [first = ''] = secret.split(/[\s,]/)
  const signed = { eventId: event.event_id, body, at: Date.now(), secrets: [first] }
  return reach(`${baseUrl}${pathOf(receiveEvent, settings)}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...signingHeaders(signed, settings) },
    body,
  })
}
