import type * as v from 'valibot'
import type { Settings } from '../../settings/register.ts'
import type { OutgoingEvent } from './outbox.ts'

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
