import * as v from 'valibot'
import { openPoint } from '../../settings/per-settings.ts'
import type { Settings } from '../../settings/register.ts'
import type { Resource } from '../base/resource.ts'
import { utc } from '../formats/text.ts'
import type { EventForm, OutgoingEvent } from './outbox.ts'

/** The definition of an event, used by its producers and consumers, the API description and the tests. */
export interface EventDefinition<Data extends v.GenericSchema = v.GenericSchema> extends EventForm {
  /** While subscribers migrate, several versions are published; a rule on the bus selects one by `detail.version`. */
  version: number
  /** A one-sentence description of the event. */
  summary: string
  /** Builds the schema of its `data`. A function, so only descriptions and checks pay for building it. */
  data: (settings: Settings) => Data
  /**
   * Set while the previous release cannot build the event from its item: the event is stored with its whole data, because
   * a relay of that release may meet it.
   */
  storedWhole?: true
}

/** @param definition its version is never edited after a release: stored events are built from it */
export function defineEvent<const Data extends v.GenericSchema>(
  definition: EventDefinition<Data> & { held?: { [Field in keyof v.InferOutput<Data>]?: string } },
): EventDefinition<Data> {
  return definition
}

/**
 * Returns an event for publication with its write.
 * @param once events of one type, version and tenant with the same value have the same id
 */
export function event<Data extends v.GenericSchema<unknown, OutgoingEvent['data']>>(
  definition: EventDefinition<Data>,
  data: v.InferOutput<Data>,
  once?: string,
): OutgoingEvent {
  return { ...outlineOf(definition), data, ...(once !== undefined && { once }) }
}

function outlineOf({
  type,
  version,
  held,
  storedWhole,
}: EventDefinition): Pick<OutgoingEvent, 'name' | 'held'> {
  return { name: `${type}.v${version}`, ...(held && !storedWhole && { held }) }
}

/** The common properties of the data of all events. */
export const subject = { id: v.string(), tenant_id: v.string() }

/** The common properties, of events whose subject is their item. */
export const heldSubject = { id: 'id', tenant_id: 'tenant_id' } as const

/** The events about a resource whose data the setting events.payloads decides. */
type ResourceEvent = keyof Settings['events.payloads']

type ResourceEventDefinition<View extends object> = EventDefinition & {
  type: ResourceEvent
  resource: Resource<View>
}

/**
 * Defines an event whose data is the id and tenant of a resource, or the resource as callers read it. Settings decide
 * which, and the resource changes, so only the id and the tenant are taken from the item.
 */
export function defineResourceEvent<View extends object>(
  definition: Omit<ResourceEventDefinition<View>, 'data' | 'held'>,
): ResourceEventDefinition<View> {
  const { type, resource } = definition
  const data = (settings: Settings) => {
    const fields = showsResource(type, settings) ? resource.shownEntries(settings) : {}
    return v.pipe(v.strictObject({ ...fields, ...subject }), openPoint('events.payloads'))
  }
  return { ...definition, data, held: heldSubject }
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
  return { ...outlineOf(definition), data: { ...fields, id, tenant_id } }
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
