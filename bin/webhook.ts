import { createHmac } from 'node:crypto'
import { route as receiveEvent } from '#functions/webhooks/receive-event/route.ts'
import { webhookKeys } from '#shared/platform/identity/signature.ts'
import { pathOf } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { baseUrlOf, type DeployedStack } from './deployment.ts'
import { signingSecret } from './webhook-secret.ts'

/** An event of another service. */
export interface SentEvent {
  event_id: string
  type: string
  occurred_at: string
  data: Record<string, unknown>
}

/** Sends a signed event as another service would. @throws Error with the response if it is rejected */
export async function sendEvent(
  stack: DeployedStack,
  event: SentEvent,
  { settings, url }: { settings: Settings; url?: string | undefined },
): Promise<{ status: number; event_id: string }> {
  const { idHeader, timestampHeader, signatureHeader, digest, prefix } = settings['webhooks.scheme']
  const { event_id } = event
  const body = JSON.stringify(event)
  const timestamp = String(Math.floor(Date.now() / 1000))
  const [key] = webhookKeys(await signingSecret(stack))
  const signed = createHmac(digest, key as Buffer).update(`${event_id}.${timestamp}.${body}`)
  const response = await fetch(`${baseUrlOf(stack, url)}${pathOf(receiveEvent, settings)}`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      [idHeader]: event_id,
      [timestampHeader]: timestamp,
      [signatureHeader]: `${prefix}${signed.digest('base64')}`,
    },
    body,
  })
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
  return { status: response.status, event_id }
}
