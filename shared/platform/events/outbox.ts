import { createHash } from 'node:crypto'
import type { Item } from '../table/keys.ts'

/** An event that a write carries with it, to be published once the write is committed. */
export interface OutgoingEvent {
  type: string
  version: number
  /** Never an e-mail, a secret or another tenant's id. */
  data: Record<string, unknown> & { id: string; tenant_id: string }
  /** Events of one type and tenant with the same value are one event to their consumers. */
  once?: string
}

/** The events of one commit, stored on the item that they speak of. */
export interface Outbox {
  /** Of the commit: the ids of its events are derived from it. */
  id: string
  occurred_at: string
  correlation_id: string
  traceparent?: string
  events: OutgoingEvent[]
}

/** An event as subscribers get it (contract, 'Events'). */
export interface PublishedEvent extends Omit<OutgoingEvent, 'once'> {
  /** Derived from the commit, so that publishing twice is seen as one event. */
  event_id: string
  occurred_at: string
  correlation_id: string
  traceparent?: string
  source: 'commerce-api'
}

/** The events that an item's latest commit put in its outbox. */
export function publishedEvents(item: Item): PublishedEvent[] {
  const outbox = item.outbox as Outbox | undefined
  if (!outbox) return []
  const { id, events, ...circumstances } = outbox
  return events.map(({ once, ...event }, index) => ({
    event_id: eventId(
      once === undefined ? `${id}|${index}` : `${event.type}|${event.data.tenant_id}|${once}`,
    ),
    ...event,
    ...circumstances,
    source: 'commerce-api',
  }))
}

/** A UUID made from a name (RFC 9562 5.8, with SHA-256). */
function eventId(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex')
  const variant = ((Number.parseInt(hex.slice(16, 18), 16) & 0x3f) | 0x80).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(18, 20)}-${hex.slice(20, 32)}`
}
