import type { Task } from '../platform/events/outbox.ts'
import type { Item, Key } from '../platform/table/keys.ts'
import { type Change, create, type Write } from '../platform/table/table.ts'
import type { WebhookEvent } from './webhook-event.ts'

/** A received event, stored once for each event_id. */
export interface InboxItem extends Key {
  /** The event as JSON, because the table does not support every number and depth of JSON. */
  event: string
  /** The task that handles it. */
  task: Task
  /** `received` until its handler's effects are committed. */
  state: 'received' | 'handled'
  /** The correlation id of the request that delivered it; its effects keep it. */
  correlation_id: string
  /** Seconds since 1970. */
  expires_at: number
}

export function inboxKey(eventId: string): Key {
  return { pk: `inbox#${eventId}`, sk: 'event' }
}

/** Writes a received event. @param now milliseconds since 1970 */
export function newInboxItem(event: WebhookEvent, correlationId: string, now: number, days: number): Write {
  const item: InboxItem & Item = {
    ...inboxKey(event.event_id),
    event: JSON.stringify(event),
    task: { queue: 'webhooks', body: event.event_id },
    state: 'received',
    correlation_id: correlationId,
    expires_at: Math.floor(now / 1000) + days * 24 * 3600,
  }
  return create(item)
}

/** Marks an event as handled. Its effects are in the same transaction, so it is handled once. */
export function markHandled(eventId: string, at: string): Change {
  return {
    update: inboxKey(eventId),
    set: { state: 'handled', handled_at: at },
    condition: { matches: { state: 'received' } },
  }
}
