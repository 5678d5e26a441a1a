import { isDeepStrictEqual } from 'node:util'
import { jsonSchema } from '#bin/describe/openapi/schemas.ts'
import type { EventDefinition } from '#shared/platform/events/event-definition.ts'
import type { HeldFields } from '#shared/platform/events/outbox.ts'
import type { Settings } from '#shared/settings/register.ts'

/** The events of a release by name, each with what builds its data. */
export type ReleasedEvents = Record<string, { held?: HeldFields; data: object }>

/** Returns what a later release must be able to rely on. */
export function releasedEvents(definitions: readonly EventDefinition[], settings: Settings): ReleasedEvents {
  const events = definitions.map(({ type, version, held, data }): [string, ReleasedEvents[string]] => [
    `${type}.v${version}`,
    { ...(held && { held }), data: JSON.parse(JSON.stringify(jsonSchema(data(settings)))) },
  ])
  return Object.fromEntries(events)
}

/** Returns the events that a relay of the last release would publish otherwise, or could not build. */
export function brokenEvents(
  released: ReleasedEvents,
  definitions: readonly EventDefinition[],
  settings: Settings,
): string[] {
  const now = releasedEvents(definitions, settings)
  return definitions.flatMap(({ type, version, held, storedWhole }) => {
    const name = `${type}.v${version}`
    const [before, after] = [released[name], now[name]]
    const isEdited =
      before &&
      (!isDeepStrictEqual(before.data, after?.data) || (before.held && !isDeepStrictEqual(before.held, held)))
    if (isEdited) return [`${name} is released: define a new version instead of editing it`]
    const isUnknown = held !== undefined && before?.held === undefined && !storedWhole
    return isUnknown ? [`${name}: the last release cannot build it, so it needs storedWhole`] : []
  })
}
