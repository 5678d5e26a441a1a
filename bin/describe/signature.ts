import { route as receiveEvent } from '#functions/webhooks/receive-event/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import type { Json } from './openapi/schemas.ts'

/** Returns the form of a signature, for senders and receivers of events. */
export function signatureForm(settings: Settings): string {
  const { prefix, digest } = settings['webhooks.scheme']
  return `\`${prefix}\` followed directly by the base64 of HMAC-${digest.toUpperCase()} over \`id.timestamp.body\`, with the raw bytes of the body.`
}

/** Returns how a sender signs an event (Standard Webhooks). */
export function signatureDescription(settings: Settings): string {
  const { idHeader, timestampHeader } = settings['webhooks.scheme']
  return [
    signatureForm(settings),
    `id is the header ${idHeader}, timestamp the header ${timestampHeader}.`,
    'The key is the base64 after `whsec_` in the secret, decoded. Several signatures are separated by spaces, and one of them must be valid.',
    `A timestamp more than ${settings['webhooks.windowSeconds']} seconds from the clock of the service is rejected.`,
  ].join(' ')
}

/** Returns the headers of a delivered event. */
export function deliveredHeaders(settings: Settings): Json {
  return signedHeaders('DeliveredHeaders', settings, {
    id: 'The event_id. It is the same in every attempt: handle it once.',
    timestamp: 'The time of the attempt, in seconds since 1970.',
    signature: `${signatureForm(settings)} While a secret is rotated, one for each secret, separated by spaces.`,
  })
}

/** Returns the headers of a received event. */
export function receivedHeaders(settings: Settings): Json {
  const { headers } = receiveEvent
  const { idHeader, timestampHeader } = settings['webhooks.scheme']
  const described = headers?.(settings) ?? {}
  return signedHeaders('ReceivedHeaders', settings, {
    id: described[idHeader]?.description,
    timestamp: described[timestampHeader]?.description,
    signature: signatureDescription(settings),
  })
}

/** Returns the headers of a signed request. */
function signedHeaders(
  title: string,
  settings: Settings,
  { id, timestamp, signature }: Record<'id' | 'timestamp' | 'signature', string | undefined>,
): Json {
  const { idHeader, timestampHeader, signatureHeader } = settings['webhooks.scheme']
  const described = { [idHeader]: id, [timestampHeader]: timestamp, [signatureHeader]: signature }
  const properties = Object.entries(described).map(([name, description]) => [
    name,
    { type: 'string', description, 'x-open-point': 'webhooks.scheme' },
  ])
  return {
    title,
    type: 'object',
    properties: Object.fromEntries(properties),
    required: Object.keys(described),
  }
}
