import { isDeepStrictEqual } from 'node:util'
import { jsonSchema } from '#bin/describe/openapi/schemas.ts'
import { type EventDefinition, publishedEventSchema } from '#shared/platform/events/event-definition.ts'
import type { Settings } from '#shared/settings/register.ts'

/** The JSON Schema of an event, or of a part of it. */
interface Schema {
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  enum?: unknown[]
  [keyword: string]: unknown
}

/** The schemas of a release's events, by name. */
export type ReleasedEvents = Record<string, Schema>

export function releasedEvents(definitions: readonly EventDefinition[], settings: Settings): ReleasedEvents {
  return Object.fromEntries(
    definitions.map(({ type, version, data }) => [
      `${type}.v${version}`,
      JSON.parse(JSON.stringify(jsonSchema(publishedEventSchema(type, version, data(settings))))),
    ]),
  )
}

/**
 * Returns what a consumer of released events would miss: as in a response, a field may be added, and none is removed,
 * retyped or made optional. An added field is optional, because an event may be published again that was stored without it.
 */
export function brokenEvents(released: ReleasedEvents, now: ReleasedEvents): string[] {
  return Object.entries(released).flatMap(([name, before]) => {
    const after = now[name]
    return after ? breaksOf(before, after, name) : [`${name} is not published any more`]
  })
}

function breaksOf(before: Schema, after: Schema, path: string): string[] {
  const [properties, required] = [after.properties ?? {}, after.required ?? []]
  const fields = Object.entries(before.properties ?? {}).flatMap(([name, field]) => {
    const [now, where] = [properties[name], `${path}.${name}`]
    if (!now) return [`${where} is missing`]
    const isOptional = before.required?.includes(name) && !required.includes(name)
    return [...(isOptional ? [`${where} became optional`] : []), ...breaksOf(field, now, where)]
  })
  const added = required
    .filter((name) => before.properties && !before.properties[name])
    .map((name) => `${path}.${name} is new and required`)
  const items = before.items && after.items ? breaksOf(before.items, after.items, `${path}[]`) : []
  const isRetyped = !isDeepStrictEqual(typeOf(before), typeOf(after)) || !keepsValues(before, after)
  return [...(isRetyped ? [`${path} has another type`] : []), ...fields, ...added, ...items]
}

/** Returns the keywords that say which values a field has. */
function typeOf({ properties, required: _required, items, enum: values, ...keywords }: Schema): object {
  const isAnnotation = (name: string) =>
    ['title', 'description', 'examples', 'deprecated'].includes(name) || /^x-/.test(name)
  return {
    ...Object.fromEntries(Object.entries(keywords).filter(([name]) => !isAnnotation(name))),
    has: [properties, items, values].map((one) => one !== undefined),
  }
}

/** Returns whether a field still has all values of an enumeration. It may have others: consumers treat them by their page. */
function keepsValues(before: Schema, after: Schema): boolean {
  return (before.enum ?? []).every((value) => after.enum?.includes(value))
}
