import type { Settings } from '../../settings/register.ts'
import { derivedId } from '../base/clock.ts'
import type { TraceContext } from '../base/correlation.ts'
import type { Item } from '../table/keys.ts'

/** An event of a write, published after the write is committed. */
export interface OutgoingEvent {
  type: string
  version: number
  /** Never contains an e-mail address, a secret or another tenant's id. */
  data: Record<string, unknown> & { id: string; tenant_id: string }
  /** Events of one type, version and tenant with the same value have the same id. */
  once?: string
}

/** The events of one commit, stored on their item. */
export interface Outbox extends TraceContext {
  /** The id of the commit, from which the ids of its events are derived. */
  id: string
  occurred_at: string
  correlation_id: string
  events: OutgoingEvent[]
}

/** An event as subscribers receive it. */
export interface PublishedEvent extends Omit<OutgoingEvent, 'once'>, TraceContext {
  /** Derived from the commit: an event that is published twice keeps its id. */
  event_id: string
  occurred_at: string
  correlation_id: string
  source: 'commerce-api'
}

/** Returns the events of an item's latest commit. */
export function publishedEvents(item: Item): PublishedEvent[] {
  const outbox = item.outbox as Outbox | undefined
  if (!outbox) return []
  const { id, events, ...circumstances } = outbox
  return events.map(({ once, ...event }, index) => ({
    event_id: derivedId(once === undefined ? `${id}|${index}` : nameOf(event, once)),
    ...event,
    ...circumstances,
    source: 'commerce-api',
  }))
}

/** Returns the name for an event id. Each version is a separate event; version 1 keeps the ids it had before others. */
function nameOf({ type, version, data }: Omit<OutgoingEvent, 'once'>, once: string): string {
  return `${version === 1 ? type : `${type}.v${version}`}|${data.tenant_id}|${once}`
}

/**
 * The queues for work after a commit, each with the number of attempts before the dead-letter queue. A new queue is one
 * line.
 */
export const taskQueues = {
  webhooks: { attempts: (settings) => settings['webhooks.maxAttempts'] },
  /** With growing pauses, eight attempts take about as long as a code is valid; a later mail would be useless. */
  mail: { attempts: () => 8 },
  /** Events of the mail service, which EventBridge sends to the queue. */
  mail_events: { attempts: () => 5 },
  /** With growing pauses, five attempts take about as long as a user expects such a mail. */
  password_resets: { attempts: () => 5 },
  imports: { attempts: () => 5 },
  /** Not fed by a commit but by a schedule: each message compares the ledger of one tenant with the payment provider. */
  reconciliations: { attempts: () => 5 },
} as const satisfies Record<string, { attempts: (settings: Settings) => number }>

export type TaskQueue = keyof typeof taskQueues

/**
 * The optional attribute `task` of a new item. After the commit, the table's stream sends the body to the queue, at
 * least once. The body is an id, never personal data.
 */
export interface Task {
  queue: TaskQueue
  body: string
  /**
   * Whose task it is: a tenant, or the user that a mail is for. The queue serves the tasks of others first while one
   * group has many.
   */
  group: string
}

/** Returns the name of the environment variable that holds the URL of a queue. */
export function queueUrlVariable(queue: TaskQueue): string {
  return `${queue.toUpperCase()}_QUEUE_URL`
}
