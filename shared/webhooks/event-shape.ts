import * as v from 'valibot'
import type { Failure } from '../platform/base/failure.ts'
import type { EventDefinition } from '../platform/events/event-definition.ts'
import { invalidFields } from '../platform/request/invalid-fields.ts'
import type { Settings } from '../settings/register.ts'
import { type ReceivedEvent, receivedEvents } from './received-events.ts'
import { impliedVersion, type WebhookEvent } from './webhook-event.ts'

/** Returns the handled versions of an event's type, and the one that is its own. */
export function handledAs(
  { type, version = impliedVersion }: Pick<WebhookEvent, 'type' | 'version'>,
  events: readonly ReceivedEvent[],
): { versions: readonly ReceivedEvent[]; own: ReceivedEvent | undefined } {
  const versions = events.filter(({ definition }) => definition.type === type)
  return { versions, own: versions.find(({ definition }) => definition.version === version) }
}

/** Returns the failure of a sent event of a known type and version whose data has another shape than its definition says. */
export function misfitOf(event: WebhookEvent, settings: Settings): Failure | undefined {
  const { own } = handledAs(event, receivedEvents)
  const result = own && v.safeParse(shapeOf(own.definition, settings), event, { abortPipeEarly: true })
  return result?.issues && invalidFields(result.issues, settings)
}

/** Checks a stored event: its version may have become known, or a setting may have changed, since it was received. */
export function requireShape(event: WebhookEvent, definition: EventDefinition, settings: Settings): void {
  v.parse(shapeOf(definition, settings), event)
}

function shapeOf({ data }: EventDefinition, settings: Settings): v.GenericSchema {
  return v.looseObject({ data: data(settings) })
}
