import * as v from 'valibot'
import { openPoint } from '../../settings/per-settings.ts'
import type { Settings } from '../../settings/register.ts'
import { uuidV8 } from '../base/clock.ts'
import type { TraceContext } from '../base/correlation.ts'
import { utc } from '../formats/text.ts'
import type { Item } from '../table/keys.ts'

/** The definition of an event, used by its producers and consumers, the API description and the tests. */
export interface EventDefinition<Data extends v.GenericSchema = v.GenericSchema> {
  type: string
  /** While subscribers migrate, several versions are published; a rule on the bus selects one by `detail.version`. */
  version: number
  /** A one-sentence description of the event. */
  summary: string
  /** Builds the schema of its `data`. A function, so only descriptions and checks pay for building it. */
  data: (settings: Settings) => Data
}

export function defineEvent<const Data extends v.GenericSchema>(
  definition: EventDefinition<Data>,
): EventDefinition<Data> {
  return definition
}

/**
 * Returns an event for publication with its write.
 * @param once events of one type, version and tenant with the same value have the same id
 */
export function event<Data extends v.GenericSchema<unknown, OutgoingEvent['data']>>(
  { type, version }: EventDefinition<Data>,
  data: v.InferOutput<Data>,
  once?: string,
): OutgoingEvent {
  return { type, version, data, ...(once !== undefined && { once }) }
}

/** The common properties of the data of all events. */
export const subject = { id: v.string(), tenant_id: v.string() }

/** Returns the schema of event data without further properties. */
export const subjectOnly = () => v.pipe(v.strictObject(subject), openPoint('events.payloads'))

/** Money in minor units. */
export const minorUnits = v.pipe(v.number(), v.integer())

/** Returns the schema of a published event. @param data the schema of its data */
export function publishedEventSchema(type: string, version: number, data: v.GenericSchema) {
  return v.strictObject({
    event_id: v.pipe(v.string(), v.uuid(), v.description('Consumers do once what they do for this id.')),
    type: v.literal(type),
    version: v.literal(version),
    occurred_at: utc,
    source: v.literal('commerce-api'),
    correlation_id: v.string(),
    traceparent: v.exactOptional(v.string()),
    tracestate: v.exactOptional(v.string()),
    baggage: v.exactOptional(v.string()),
    data,
  })
}

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
    event_id: uuidV8(once === undefined ? `${id}|${index}` : nameOf(event, once)),
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
} as const satisfies Record<string, { attempts: (settings: Settings) => number }>

export type TaskQueue = keyof typeof taskQueues

/**
 * The optional attribute `task` of a new item. After the commit, the table's stream sends the body to the queue, at
 * least once. The body is an id, never personal data.
 */
export interface Task {
  queue: TaskQueue
  body: string
}

/** Returns the name of the environment variable that holds the URL of a queue. */
export function queueUrlVariable(queue: TaskQueue): string {
  return `${queue.toUpperCase()}_QUEUE_URL`
}
