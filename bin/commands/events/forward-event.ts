import { firstBytes } from '#shared/deliveries/call-subscriber.ts'
import { deliveryBody } from '#shared/deliveries/delivery.ts'
import type { PublishedEvent } from '#shared/platform/events/outbox.ts'
import type { Settings } from '#shared/settings/register.ts'
import { signingHeaders } from '#shared/subscribers/signing-secret.ts'

/** An endpoint that gets events as a subscriber does. */
export interface ForwardTarget {
  url: string
  secret: string
  settings: Settings
}

/** How an endpoint answered. */
interface Forwarded extends Pick<PublishedEvent, 'occurred_at' | 'type' | 'event_id'> {
  /** Of the response. */
  status?: number
  milliseconds: number
  /** Why there is no response. */
  reason?: string
}

/** Posts an event to an endpoint once, signed as for a subscriber. The time limit includes the first kilobyte of the response. */
export async function forward(
  event: PublishedEvent,
  { url, secret, settings }: ForwardTarget,
): Promise<Forwarded> {
  const { occurred_at, type, event_id } = event
  const body = deliveryBody(event)
  const signed = signingHeaders({ eventId: event_id, body, at: Date.now(), secrets: [secret] }, settings)
  const seconds = settings['deliveries.timeoutSeconds']
  const started = performance.now()
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...signed },
    body,
    redirect: 'manual',
    signal: AbortSignal.timeout(seconds * 1000),
  })
    .then(async ({ status, body: answer }) => {
      await firstBytes(answer ?? [])
      return { status }
    })
    .catch((thrown: Error) => ({
      reason: thrown.name === 'TimeoutError' ? `no response within ${seconds} s` : reasonOf(thrown),
    }))
  return { occurred_at, type, event_id, ...answer, milliseconds: Math.round(performance.now() - started) }
}

/** Returns the code of a failed connection, such as ECONNREFUSED, or what else is wrong. */
function reasonOf({ message, cause }: Error): string {
  const { code } = (cause ?? {}) as NodeJS.ErrnoException
  return code ?? message
}
