import * as v from 'valibot'
import { utc } from '../schemas/date-time.ts'
import { openPoint } from '../settings/open-point.ts'

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
