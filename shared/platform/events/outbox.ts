import type { Settings } from '../../settings/register.ts'
import { type Clock, derivedId, isId, timestamp } from '../base/clock.ts'
import type { Correlation, TraceContext } from '../base/correlation.ts'
import { type Item, isEntity, type Key, ownerOf, type PartitionKind } from '../table/keys.ts'
import type { Put } from '../table/table.ts'

/** The data of an event: the id of its subject and the tenant whose subscribers receive it, and more. */
type EventData = Record<string, unknown> & { id: string; tenant_id: string }

/** An event of a write, published after the write is committed. */
export interface OutgoingEvent {
  /** Its type and version, such as `order.placed.v1`. */
  name: string
  /** The kinds of items that may carry it. */
  carriers: readonly PartitionKind[]
  /** Never contains an e-mail address, a secret or another tenant's id. */
  data: EventData
  /** Events of one type, version and tenant with the same value have the same id. */
  once?: string
}

/**
 * An event on its item: its name and its data, without what the key of the item says. Nothing else is taken from the item,
 * because a key never changes and attributes do. It has an id unless the id is derived from the commit.
 */
export type StoredEvent = string | { name: string; id?: string; data?: Partial<EventData> }

/** The events of one commit. */
interface StoredCommit extends TraceContext {
  /** Distinguishes the commits of an item. Absent on the creation of an item whose key is never used again. */
  id?: string
  /** Milliseconds since 1970. */
  at: number
  correlation_id: string
  events: StoredEvent[]
}

/** The events of an item, stored on it: those of its latest commit with events, and of its first one. */
export interface Outbox extends StoredCommit {
  /** The first commit, once a later one has events. */
  first?: StoredCommit
  /** The times of commits between the two, whose events are not stored any more: the latest, in milliseconds since 1970. */
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
 * Returns a written item with its events.
 * @throws Error if an event may not be carried by an item of this kind, or is of another tenant
 */
export function withEvents(
  { item, condition }: Put,
  events: readonly OutgoingEvent[],
  { clock, correlation }: { clock: Clock; correlation: Correlation },
): Item {
  const isCreation = condition !== 'none' && 'absent' in condition && isCreatedOnce(item)
  const commit: StoredCommit = {
    ...(!isCreation && { id: Buffer.from(clock.randomBytes(6)).toString('base64url') }),
    at: clock.now(),
    correlation_id: correlation.id,
    ...correlation.trace,
    events: events.map((event) => storedEvent(event, item)),
  }
  return { ...item, outbox: { ...commit, ...historyOf(item.outbox as Outbox | undefined) } }
}

/** Returns whether no later item can have the key of this one: a key with an id is not used again, one of names is. */
function isCreatedOnce({ pk, sk }: Key): boolean {
  return isId(sk) || isId(pk.slice(pk.lastIndexOf('#') + 1))
}

function storedEvent({ name, carriers, data, once }: OutgoingEvent, item: Item): StoredEvent {
  const { kind } = ownerOf(item.pk)
  if (!carriers.some((carrier) => carrier === kind)) {
    throw new Error(
      `${name} cannot be carried by an item of the kind ${kind}: its definition names ${carriers}`,
    )
  }
  const { id, tenant_id, ...rest } = data
  if (tenant_id !== tenantOfItem(item)) throw new Error(`${name} is of another tenant than its item`)
  const own = { ...(id !== item.sk && { id }), ...rest }
  const stored = {
    ...(once !== undefined && { id: derivedId(`${name}|${tenant_id}|${once}`) }),
    ...(Object.keys(own).length > 0 && { data: own }),
  }
  return Object.keys(stored).length > 0 ? { name, ...stored } : name
}

/** Returns the tenant of the events of an item: that of its partition, or else of its attribute. */
function tenantOfItem({ pk, tenant_id }: Item): string | undefined {
  const { kind, tenant } = ownerOf(pk)
  if (isEntity(kind)) return tenant
  return typeof tenant_id === 'string' ? tenant_id : undefined
}

/** The maximum number of times of replaced events that an item keeps. */
export const maxReplaced = 10

/** Returns what a commit keeps of the events before it. */
function historyOf(before: Outbox | undefined): Pick<Outbox, 'first' | 'replaced'> {
  if (!before) return {}
  const { first, replaced = [], ...latest } = before
  if (!first) return { first: latest }
  return { first, replaced: [...replaced, latest.at].slice(-maxReplaced) }
}

/**
 * Returns the events of an item's first commit with events and of its latest one.
 * @param before the item before a change, whose events are left out
 * @throws Error if the item names no tenant
 */
export function publishedEvents(item: Item, before?: Item): PublishedEvent[] {
  const known = new Set(commitsOf(before).map(({ id }) => id))
  return commitsOf(item)
    .filter(({ id }) => !known.has(id))
    .flatMap(({ id = '', at, correlation_id, traceparent, tracestate, baggage, events }) =>
      events.map((event, index): PublishedEvent => {
        const stored = typeof event === 'string' ? { name: event } : event
        return {
          event_id: stored.id ?? derivedId([item.pk, item.sk, id, index].join('|')),
          ...typeOf(stored.name),
          data: dataOf(stored, item),
          occurred_at: timestamp(at),
          correlation_id,
          // Nothing else of the commit is published, whatever another release has stored there.
          ...(traceparent !== undefined && { traceparent }),
          ...(tracestate !== undefined && { tracestate }),
          ...(baggage !== undefined && { baggage }),
          source: 'commerce-api',
        }
      }),
    )
}

function commitsOf(item: Item | undefined): StoredCommit[] {
  if (!item?.outbox) return []
  const { first, replaced: _, ...latest } = item.outbox as Outbox
  return first ? [first, latest] : [latest]
}

function typeOf(name: string): Pick<PublishedEvent, 'type' | 'version'> {
  const [, type, version] = /^(.+)\.v(\d+)$/.exec(name) ?? []
  if (type === undefined) throw new Error(`${name} is no name of an event`)
  return { type, version: Number(version) }
}

function dataOf({ name, data }: Exclude<StoredEvent, string>, item: Item): EventData {
  const tenant_id = tenantOfItem(item)
  if (tenant_id === undefined) throw new Error(`${name} is of no tenant`)
  // A tenant among the data is not one that the platform stored there.
  const { tenant_id: _, ...rest } = data ?? {}
  return { id: item.sk, tenant_id, ...rest }
}

/** A queue of tasks. */
interface TaskQueueDefinition {
  /** The number of attempts before the dead-letter queue. */
  attempts: (settings: Settings) => number
  /** The kinds of items whose tasks it takes. None if something other than a commit feeds it. */
  carriers: readonly PartitionKind[]
}

/** The queues for work outside of a request. A new queue is one line. */
export const taskQueues = {
  webhooks: { attempts: (settings) => settings['webhooks.maxAttempts'], carriers: ['inbox'] },
  /** With growing pauses, eight attempts take about as long as a code is valid; a later mail would be useless. */
  mail: { attempts: () => 8, carriers: ['mail'] },
  /** Events of the mail service, which EventBridge sends to the queue. */
  mail_events: { attempts: () => 5, carriers: [] },
  /** With growing pauses, five attempts take about as long as a user expects such a mail. */
  password_resets: { attempts: () => 5, carriers: ['password_reset'] },
  imports: { attempts: () => 5, carriers: ['operation'] },
  /** A schedule feeds it: each message compares the ledger of one tenant with the payment provider. */
  reconciliations: { attempts: () => 5, carriers: [] },
  /** The bus feeds it: the events that subscribers may have asked for. */
  published_events: { attempts: () => 5, carriers: [] },
  /** Each message is an attempt of a delivery. Only faults of the service count: a subscriber that fails does not. */
  deliveries: { attempts: () => 5, carriers: [] },
} as const satisfies Record<string, TaskQueueDefinition>

export type TaskQueue = keyof typeof taskQueues

export function isTaskQueue(name: string): name is TaskQueue {
  return Object.hasOwn(taskQueues, name)
}

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
