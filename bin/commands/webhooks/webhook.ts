import { route as receiveEvent } from '#functions/webhooks/receive-event/route.ts'
import { pathOf } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { signingHeaders } from '#shared/subscribers/signing-secret.ts'
import { handledAs } from '#shared/webhooks/event-shape.ts'
import { receivedEvents } from '#shared/webhooks/received-events.ts'
import { reach } from '../stack/reach.ts'

/** An event of another service. */
interface SentEvent {
  event_id: string
  type: string
  occurred_at: string
  data: Record<string, unknown>
}

/** An object's schema, or an intersection of several. */
interface DataSchema {
  entries?: object
  options?: readonly DataSchema[]
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

/** Returns a warning about what the service ignores of an event: its type, or fields of its data; undefined without any. */
export function ignoredOf({ type, data }: SentEvent, settings: Settings): string | undefined {
  const { own } = handledAs({ type }, receivedEvents)
  if (!own) {
    const types = receivedEvents.map(({ definition }) => definition.type)
    return `the service ignores events of the type ${type}; it handles ${types.join(', ')}`
  }
  const fields = fieldsOf(own.definition.data(settings) as DataSchema)
  const unknown = Object.keys(data).filter((field) => !fields.includes(field))
  if (unknown.length === 0) return undefined
  return `the service ignores ${unknown.join(', ')} in the data of ${type}, which has the fields ${fields.join(', ')}`
}

/** Returns the names of the fields of an object, which may be described by several schemas. */
function fieldsOf({ entries = {}, options = [] }: DataSchema): string[] {
  return [...new Set([...Object.keys(entries), ...options.flatMap(fieldsOf)])]
}
