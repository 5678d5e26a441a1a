import type { Settings } from '../../settings/register.ts'
import { derivedId, timestamp } from '../base/clock.ts'
import type { TraceContext } from '../base/correlation.ts'
import type { Item } from '../table/keys.ts'

/** The fields of an event's data that its item holds and never changes, each with the attribute of the item. */
export type HeldFields = Readonly<Record<string, string>>

/** The part of an event's definition from which the relay builds its data. */
export interface EventForm {
  type: string
  version: number
  held?: HeldFields
}

type EventData = Record<string, unknown> & { id: string; tenant_id: string }

/** An event of a write, published after the write is committed. */
export interface OutgoingEvent {
  /** Its type and version, such as `order.placed.v1`. */
  name: string
  held?: HeldFields
  /** Never contains an e-mail address, a secret or another tenant's id. */
  data: EventData
  /** Events of one type, version and tenant with the same value have the same id. */
  once?: string
}

/**
 * An event on its item. Its name suffices if the item holds all of the data; else it has the rest, or the whole data if its
 * definition takes nothing from the item. It has an id unless the id is derived from the commit.
 */
export type StoredEvent =
  | string
  | { name: string; id?: string; rest?: Record<string, unknown>; data?: EventData }

/** The events of one commit. */
export interface StoredCommit extends TraceContext {
  /** Milliseconds since 1970. */
  at: number
  correlation_id: string
  events: StoredEvent[]
}

/** The events of an item, stored on it: those of its latest commit and of its creation. */
export interface Outbox extends StoredCommit {
  /** Distinguishes the changes of an item. Absent on its creation. */
  id?: string
  /** The events of the creation, once a change has events. */
  creation?: StoredCommit
  /** The times of changes whose events were replaced by later ones: the latest, in milliseconds since 1970. */
  replaced?: number[]
}

/** An event as subscribers receive it. */
export interface PublishedEvent extends TraceContext {
  type: string
  version: number
  data: EventData
  /** Derived from the commit: an event that is published twice keeps its id. */
  event_id: string
  occurred_at: string
  correlation_id: string
  source: 'commerce-api'
}

/**
 * Returns the events of an item's creation and of its latest change.
 * @param forms the events of this release
 * @param before the item before a change, whose events are left out
 * @throws Error if the data of an event cannot be built
 */
export function publishedEvents(item: Item, forms: readonly EventForm[], before?: Item): PublishedEvent[] {
  const known = new Set(commitsOf(before).map(({ id }) => id))
  return commitsOf(item)
    .filter(({ id }) => !known.has(id))
    .flatMap(({ id = '', at, events, ...circumstances }) =>
      events.map((event, index): PublishedEvent => {
        const stored = typeof event === 'string' ? { name: event } : event
        return {
          event_id: stored.id ?? derivedId([item.pk, item.sk, id, index].join('|')),
          ...buildEvent(stored, item, forms),
          occurred_at: timestamp(at),
          ...circumstances,
          source: 'commerce-api',
        }
      }),
    )
}

function commitsOf(item: Item | undefined): (StoredCommit & { id?: string })[] {
  if (!item?.outbox) return []
  const { creation, replaced: _, ...latest } = item.outbox as Outbox
  return creation ? [creation, latest] : [latest]
}

/**
 * Builds an event from its stored part and its item.
 * @throws Error if this release does not know the event, or the item has lost an attribute
 */
function buildEvent(
  { name, rest = {}, data }: Exclude<StoredEvent, string>,
  item: Item,
  forms: readonly EventForm[],
): Pick<PublishedEvent, 'type' | 'version' | 'data'> {
  const [, type = '', number] = /^(.+)\.v(\d+)$/.exec(name) ?? []
  const version = Number(number)
  if (data) return { type, version, data }
  const held = forms.find((one) => one.type === type && one.version === version)?.held
  if (!held) throw new Error(`${name} cannot be built: this release does not define it`)
  const taken = Object.entries(held).filter(([field]) => rest[field] === undefined)
  const lost = taken.find(([, attribute]) => item[attribute] === undefined)
  if (lost) throw new Error(`${name} cannot be built: its item has no ${lost[1]}`)
  const fields = Object.fromEntries(taken.map(([field, attribute]) => [field, item[attribute]]))
  return { type, version, data: { ...fields, ...rest } as EventData }
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
  /** Not fed by a commit but by the bus: the events that subscribers may have asked for. */
  published_events: { attempts: () => 5 },
  /** Each message is an attempt of a delivery. Only faults of the service count: a subscriber that fails does not. */
  deliveries: { attempts: () => 5 },
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
