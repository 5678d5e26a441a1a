import type { TraceContext } from '../http/correlation.ts'
import { uuidV8 } from '../ids/uuid-v8.ts'
import type { Item } from '../table/keys.ts'

/** An event that a write carries with it, to be published once the write is committed. */
export interface OutgoingEvent {
  type: string
  version: number
  /** Never an e-mail, a secret or another tenant's id. */
  data: Record<string, unknown> & { id: string; tenant_id: string }
  /** Events of one type, version and tenant with the same value are one event to their consumers. */
  once?: string
}

/** The events of one commit, stored on the item that they speak of. */
export interface Outbox extends TraceContext {
  /** Of the commit: the ids of its events are derived from it. */
  id: string
  occurred_at: string
  correlation_id: string
  events: OutgoingEvent[]
}

/** An event as subscribers get it (contract, 'Events'). */
export interface PublishedEvent extends Omit<OutgoingEvent, 'once'>, TraceContext {
  /** Derived from the commit, so that publishing twice is seen as one event. */
  event_id: string
  occurred_at: string
  correlation_id: string
  source: 'commerce-api'
}

/** The events that an item's latest commit put in its outbox. */
export function publishedEvents(item: Item): PublishedEvent[] {
  const outbox = item.outbox as Outbox | undefined
  if (!outbox) return []
  const { id, events, ...circumstances } = outbox
  return events.map(({ once, ...event }, index) => ({
    event_id: uuidV8(once === undefined ? `${id}|${index}` : nameOf(event, once)),
    ...event,
    ...circumstances,
    source: 'commerce-api',
  }))
}

/** Versions side by side are events of their own; the first keeps the id that it had before there was another. */
function nameOf({ type, version, data }: Omit<OutgoingEvent, 'once'>, once: string): string {
  return `${version === 1 ? type : `${type}.v${version}`}|${data.tenant_id}|${once}`
}
