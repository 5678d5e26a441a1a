import type * as v from 'valibot'
import type { Settings } from '../../settings/register.ts'
import type { OutgoingEvent } from './outbox.ts'

/** One event as data: read by those who send or handle it, the API description and the tests. */
export interface EventDefinition<Data extends v.GenericSchema = v.GenericSchema> {
  type: string
  /** Side by side with others of its type while subscribers change over, who choose by `detail.version` on the bus. */
  version: number
  /** What happened, in a sentence. */
  summary: string
  /** The schema of its `data`. A function, so that only descriptions and checks pay for making it. */
  data: (settings: Settings) => Data
}

export function defineEvent<const Data extends v.GenericSchema>(
  definition: EventDefinition<Data>,
): EventDefinition<Data> {
  return definition
}

/**
 * An event to be published with the write that it speaks of.
 * @param once events of one type, version and tenant with the same value are one event to their consumers
 */
export function event<Data extends v.GenericSchema<unknown, OutgoingEvent['data']>>(
  { type, version }: EventDefinition<Data>,
  data: v.InferOutput<Data>,
  once?: string,
): OutgoingEvent {
  return { type, version, data, ...(once !== undefined && { once }) }
}
