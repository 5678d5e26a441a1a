import type { Task } from '../platform/queue/tasks.ts'
import type { Item, Key } from '../platform/table/keys.ts'
import type { Change } from '../platform/table/table.ts'
import { create, type Write } from '../platform/table/writes.ts'
import type { WebhookEvent } from './webhook-event.ts'

/** An event as it was received, once for each event_id. */
export interface InboxItem extends Key {
  /** JSON of the event: the table holds not every number and depth that JSON has. */
  event: string
  /** Its handling. */
  task: Task
  /** `received` until its handler's effects are committed. */
  state: 'received' | 'handled'
  /** Of the request that brought it; its effects carry it on. */
  correlation_id: string
  /** Seconds since 1970. */
  expires_at: number
}

export function inboxKey(eventId: string): Key {
  return { pk: `inbox#${eventId}`, sk: 'event' }
}

/** An event that is received. @param now milliseconds since 1970 */
export function received(event: WebhookEvent, correlationId: string, now: number, days: number): Write {
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

/** Its effects are committed with this, or not at all: an event is handled once. */
export function handled(eventId: string, at: string): Change {
  return {
    update: inboxKey(eventId),
    set: { state: 'handled', handled_at: at },
    condition: { matches: { state: 'received' } },
  }
}
