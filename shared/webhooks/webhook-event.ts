import * as v from 'valibot'
import { correlationIdPattern, traceparentPattern } from '../platform/base/correlation.ts'
import { utcInstant, wholeNumber } from '../platform/formats/text.ts'
import { describedAs, openPoint, perSettings } from '../settings/per-settings.ts'
import type { Settings } from '../settings/register.ts'

const id = v.pipe(v.string(), v.minLength(1), v.maxLength(255), v.regex(/^[\x21-\x7e]+$/))
const source = v.exactOptional(v.pipe(v.string(), v.maxLength(255)))
const correlationId = perSettings((settings) =>
  v.pipe(v.string(), v.regex(correlationIdPattern(settings)), openPoint('requests.correlationId')),
)

const number = wholeNumber(1)
/** Some senders write `v1` for 1. The description shows the number: clients could generate no plain type for both. */
const Version = v.pipe(
  v.union([number, v.pipe(v.string(), v.regex(/^v[1-9]\d{0,8}$/))]),
  describedAs(v.pipe(number, v.description('The text v1 is read as 1, and so on.'))),
  v.transform((version) => (typeof version === 'string' ? Number(version.slice(1)) : version)),
)

/**
 * The body of POST /v1/webhooks/events, of any type. The definition of a handled type and version says what its data needs
 * beyond the id (`event-shape.ts`); all other events are stored as they are. The service's own events have this shape too, so a replay of the bus can be received.
 */
export const webhookEvent = perSettings((settings) => {
  const fields = {
    event_id: id,
    type: v.pipe(v.string(), v.regex(/^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$/), v.maxLength(64)),
    occurred_at: utcInstant,
    data: v.pipe(
      v.objectWithRest({ id }, v.unknown()),
      v.description(`An event without tenant_id belongs to the tenant ${settings['auth.publicTenant']}.`),
      openPoint('auth.publicTenant'),
      v.title('WebhookEventData'),
    ),
    source,
    source_service: source,
    version: v.exactOptional(Version),
    correlation_id: v.exactOptional(correlationId(settings)),
    traceparent: v.exactOptional(v.pipe(v.string(), v.regex(traceparentPattern))),
    tracestate: v.exactOptional(v.pipe(v.string(), v.maxLength(512))),
    baggage: v.exactOptional(v.pipe(v.string(), v.maxLength(8192))),
  }
  return v.pipe(v.strictObject(fields), v.title('WebhookEvent'))
})
export type WebhookEvent = v.InferOutput<ReturnType<typeof webhookEvent>>

/** Returns the correlation id of an event, or else the one in its data, as in cart events. */
export function correlationIdOf(
  { correlation_id, data }: WebhookEvent,
  settings: Settings,
): string | undefined {
  return (
    correlation_id ?? (v.is(correlationId(settings), data.correlation_id) ? data.correlation_id : undefined)
  )
}

/** The version of an event without one. */
export const impliedVersion = 1
