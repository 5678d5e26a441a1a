import { describeFault } from '../platform/base/failure.ts'
import type { Task } from '../platform/events/outbox.ts'
import type { Item, Key } from '../platform/table/keys.ts'
import { type Change, create, type Update, type Write } from '../platform/table/table.ts'
import type { Settings } from '../settings/register.ts'
import { tenantPattern } from '../settings/tenant-limits.ts'
import type { WebhookEvent } from './webhook-event.ts'

/** A received event, stored once for each event_id in its part of the inbox. */
export interface InboxItem extends Key {
  /** The event as JSON, because the table does not support every number and depth of JSON. */
  event: string
  /** The task that handles it. */
  task: Task
  /**
   * `received` until its handler's effects are committed. `handled`: it had an effect, or is a duplicate or older than
   * what is stored. `ignored`: it has no meaning here.
   */
  state: 'received' | 'handled' | 'ignored'
  /** The correlation id of the request that delivered it; its effects keep it. */
  correlation_id: string
  /** Seconds since 1970. */
  expires_at: number
  /** The number of failed attempts to handle it; absent without one. */
  failed_attempts?: number
  /** The latest error, as it is logged. */
  failure?: { name: string; message?: string; at: string }
}

/** A part of the inbox: the events of partners, or those of Stripe. Events of both may have the same id. */
type InboxPart = 'event' | 'stripe'

export function inboxKey(eventId: string, part: InboxPart = 'event'): Key {
  return { pk: `inbox#${eventId}`, sk: part }
}

/** The start of the tasks of Stripe's events. The task of any other event is its id, which contains no space. */
const stripeTask = 'stripe '

/** Returns the key of the event that the task with this body handles. */
export function inboxKeyOf(taskBody: string): Key {
  const isOfStripe = taskBody.startsWith(stripeTask)
  return isOfStripe ? inboxKey(taskBody.slice(stripeTask.length), 'stripe') : inboxKey(taskBody)
}

/** Writes a received event. @param now milliseconds since 1970 */
export function newInboxItem(
  event: WebhookEvent,
  correlationId: string,
  now: number,
  settings: Settings,
  part: InboxPart = 'event',
): Write {
  const { tenant_id: tenant, account } = event.data
  // An event of Stripe names an account. The data of an event of an unknown type or version has any form.
  const group = part === 'stripe' ? account : tenant
  const isGroup = typeof group === 'string' && tenantPattern.test(group)
  const item: InboxItem & Item = {
    ...inboxKey(event.event_id, part),
    event: JSON.stringify(event),
    task: {
      queue: 'webhooks',
      body: part === 'stripe' ? `${stripeTask}${event.event_id}` : event.event_id,
      group: isGroup ? group : settings['auth.publicTenant'],
    },
    state: 'received',
    correlation_id: correlationId,
    expires_at: Math.floor(now / 1000) + settings['webhooks.inboxDays'] * 24 * 3600,
  }
  return create(item)
}

/** Ends the handling of an event. Its effects are in the same transaction, so it is handled once. */
export function markHandled({ pk, sk }: Key, state: 'handled' | 'ignored', at: string): Change {
  return {
    update: { pk, sk },
    set: { state, handled_at: at },
    condition: { matches: { state: 'received' } },
  }
}

/** Records a failed attempt, for the operator who finds the event among the dead letters. */
export function recordFailedAttempt(
  { pk, sk, failed_attempts = 0 }: InboxItem,
  fault: unknown,
  at: string,
): Update {
  const { name = 'unknown', message } = describeFault(fault) ?? {}
  const failure = { name, ...(message !== undefined && { message }), at }
  return {
    update: { pk, sk },
    set: { failed_attempts: failed_attempts + 1, failure },
    condition: { matches: { state: 'received' } },
  }
}
