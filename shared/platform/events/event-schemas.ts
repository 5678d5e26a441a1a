import * as v from 'valibot'
import { utc } from '../schemas/date-time.ts'
import { openPoint } from '../settings/open-point.ts'

/** What the data of every published event begins with. */
export const subject = { id: v.string(), tenant_id: v.string() }

/** The data of the events for which the contract shows no properties. */
export const subjectOnly = () => v.pipe(v.strictObject(subject), openPoint('events.payloads'))

/** Money in minor units. */
export const minorUnits = v.pipe(v.number(), v.integer())

/** An event as subscribers get it. @param data the schema of its data */
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
