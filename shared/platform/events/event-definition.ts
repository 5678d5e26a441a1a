import * as v from 'valibot'
import { openPoint } from '../../settings/per-settings.ts'
import type { Settings } from '../../settings/register.ts'
import type { Resource } from '../base/resource.ts'
import { utc } from '../formats/text.ts'
import type { PartitionKind } from '../table/keys.ts'
import type { OutgoingEvent } from './outbox.ts'
import type { Carriers } from './relay.ts'

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

/** The definition of an event that the service publishes. */
export interface PublishedDefinition<Data extends v.GenericSchema = v.GenericSchema>
  extends EventDefinition<Data> {
  /**
   * The kinds of items that may carry it; the relay publishes it from no others. Its tenant is that of the item's partition,
   * or the attribute `tenant_id` of an item whose kind belongs to no tenant.
   */
  carriers: readonly PartitionKind[]
}

export function defineEvent<Data extends v.GenericSchema>(
  definition: PublishedDefinition<Data>,
): PublishedDefinition<Data>
export function defineEvent<Data extends v.GenericSchema>(
  definition: EventDefinition<Data>,
): EventDefinition<Data>
export function defineEvent(definition: EventDefinition): EventDefinition {
  return definition
}

/**
 * Returns an event for publication with its write.
 * @param once events of one type, version and tenant with the same value have the same id
 */
export function event<Data extends v.GenericSchema<unknown, OutgoingEvent['data']>>(
  definition: PublishedDefinition<Data>,
  data: v.InferOutput<Data>,
  once?: string,
): OutgoingEvent {
  return { ...outgoingHead(definition), data, ...(once !== undefined && { once }) }
}

function outgoingHead({
  type,
  version,
  carriers,
}: PublishedDefinition): Pick<OutgoingEvent, 'name' | 'carriers'> {
  return { name: `${type}.v${version}`, carriers }
}

/** The properties of all events: the id and the tenant of what the event is about. */
export const subject = { id: v.string(), tenant_id: v.string() }

/** Returns the kinds of items that may carry each type, in every version: all that the relay knows of events. */
export function carriersOf(definitions: readonly PublishedDefinition[]): Carriers {
  const byType = Map.groupBy(definitions, ({ type }) => type)
  return new Map(
    Array.from(byType, ([type, all]) => [type, new Set(all.flatMap(({ carriers }) => carriers))]),
  )
}

/** The events about a resource whose data the setting events.payloads decides. */
type ResourceEvent = keyof Settings['events.payloads']

type ResourceEventDefinition<View extends object> = PublishedDefinition & {
  type: ResourceEvent
  resource: Resource<View>
}

/**
 * Defines an event whose data is the id and tenant of a resource, or the resource as callers read it. Settings decide
 * which.
 */
export function defineResourceEvent<View extends object>(
  definition: Omit<ResourceEventDefinition<View>, 'data'>,
): ResourceEventDefinition<View> {
  const { type, resource } = definition
  const data = (settings: Settings) => {
    const fields = showsResource(type, settings) ? resource.shownEntries(settings) : {}
    return v.pipe(v.strictObject({ ...fields, ...subject }), openPoint('events.payloads'))
  }
  return { ...definition, data }
}

/** Returns an event about a resource. */
export function resourceEvent<View extends object>(
  definition: ResourceEventDefinition<View>,
  stored: View & { id: string; tenant_id: string },
  settings: Settings,
): OutgoingEvent {
  const { id, tenant_id } = stored
  const { type, resource } = definition
  const fields = showsResource(type, settings) ? resource.shown(resource.viewOf(stored), settings) : {}
  return { ...outgoingHead(definition), data: { ...fields, id, tenant_id } }
}

function showsResource(type: ResourceEvent, settings: Settings): boolean {
  return settings['events.payloads'][type] === 'resource'
}

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
