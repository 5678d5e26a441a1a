import { patternIncludes } from './patterns.ts'

// biome-ignore lint/suspicious/noExplicitAny: a JSON Schema has any shape
export type Schema = any

/** Two versions of a schema, and the role of the caller. */
export interface Comparison {
  before: Schema
  after: Schema
  /**
   * A sender sends values of `before` that `after` must accept. A reader knows `before` and receives values of `after`.
   */
  as: 'sender' | 'reader'
  /** Allows new members in enumerations, such as error codes. */
  growing?: boolean
}

/** A change and its path: `amount_minor` and `maximum was 9, is 5`. */
export interface Change {
  place: string
  what: string
}

const annotations = /^(title|description|examples?|default|deprecated|\$comment|x-.*)$/
const lowest = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties']
const highest = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties']
const structure = ['type', 'enum', 'const', 'properties', 'required', 'additionalProperties', 'items']
const judged = new Set([...lowest, ...highest, ...structure])

/**
 * Returns the changes in `after` that break callers of `before`. An unknown keyword counts as a change wherever it
 * differs, so no break passes unnoticed. References are already resolved.
 */
export function schemaChanges(comparison: Comparison, place = ''): Change[] {
  const { before, after, as } = comparison
  // Every value that one side may produce must be valid for the other.
  const [given, taken] = as === 'sender' ? [before, after] : [after, before]
  const kinds: Schema[] = alternatives(given)
  const fitting: Schema[] = alternatives(taken)
  if (kinds.length === 1 && fitting.length === 1) return kindChanges(comparison, given, taken, place)
  const fits = (kind: Schema) =>
    fitting.some((one) => schemaChanges(paired(comparison, kind, one), place).length === 0)
  if (kinds.every(fits)) return []
  return [
    {
      place,
      what: as === 'sender' ? 'what it could be is no longer accepted' : 'it may be something else now',
    },
  ]
}

/**
 * Returns the alternatives of anyOf, each merged with the keywords next to it. If these overlap, anyOf is treated as an
 * unknown keyword.
 */
function alternatives(schema: Schema): Schema[] {
  const { anyOf: kinds = [], ...rest } = schema
  const overlaps = (kind: Schema) => Object.keys(kind).some((keyword) => keyword in rest)
  if (kinds.length === 0 || kinds.some(overlaps)) return [schema]
  return kinds.flatMap((kind: Schema) => alternatives({ ...rest, ...kind }))
}

function paired(comparison: Comparison, given: Schema, taken: Schema): Comparison {
  const [before, after] = comparison.as === 'sender' ? [given, taken] : [taken, given]
  return { ...comparison, before, after }
}

function kindChanges(comparison: Comparison, given: Schema, taken: Schema, place: string): Change[] {
  const { before, after } = comparison
  const was = (keyword: string) => {
    return `${keyword} was ${told(before[keyword])}, is ${told(after[keyword])}`
  }
  const keywords = Object.keys(taken).filter((keyword) => narrows(keyword, given, taken))
  return [
    ...keywords.map((keyword) => ({ place, what: was(keyword) })),
    ...memberChanges(comparison, given, taken).map((what) => ({ place, what })),
    ...fieldChanges(comparison, given, taken, place),
    ...(taken.items && given.items
      ? schemaChanges(paired(comparison, given.items, taken.items), `${place}[]`)
      : []),
    ...(taken.items && !given.items && given.type === 'array' ? [{ place, what: was('items') }] : []),
  ]
}

/** Returns whether a keyword of `taken` rejects something that `given` allows. */
function narrows(keyword: string, given: Schema, taken: Schema): boolean {
  if (annotations.test(keyword)) return false
  if (keyword === 'type')
    return taken.type !== given.type && !(taken.type === 'number' && given.type === 'integer')
  if (lowest.includes(keyword)) return !(given[keyword] >= taken[keyword])
  if (highest.includes(keyword)) return !(given[keyword] <= taken[keyword])
  if (keyword === 'pattern' && typeof given.pattern === 'string')
    return !patternIncludes(taken.pattern, given.pattern)
  return !judged.has(keyword) && told(given[keyword]) !== told(taken[keyword])
}

function memberChanges({ as, growing }: Comparison, given: Schema, taken: Schema): string[] {
  const members = (schema: Schema) => ('const' in schema ? [schema.const] : schema.enum)
  const known = members(taken)?.map(told)
  if (!known || (growing && as === 'reader')) return []
  const others = members(given)
    ?.map(told)
    .filter((member: string) => !known.includes(member))
  if (others?.length === 0) return []
  const which = others?.join(', ') ?? 'anything'
  return [as === 'sender' ? `${which} is no longer accepted` : `it may be ${which} now`]
}

function fieldChanges(comparison: Comparison, given: Schema, taken: Schema, place: string): Change[] {
  const sends = comparison.as === 'sender'
  const at = (name: string) => (place ? `${place}.${name}` : name)
  const changes: Change[] = []
  for (const [name, field] of Object.entries<Schema>(taken.properties ?? {})) {
    const other = given.properties?.[name]
    const rest = given.additionalProperties ?? true
    if (other) changes.push(...schemaChanges(paired(comparison, other, field), at(name)))
    else if (!sends) changes.push({ place: at(name), what: 'it is gone' })
    // Senders may already use this name for a field of their own.
    else if (rest !== false)
      changes.push(...schemaChanges(paired(comparison, rest === true ? {} : rest, field), at(name)))
  }
  for (const name of taken.required ?? [])
    if (!given.required?.includes(name) && (sends || given.properties?.[name]))
      changes.push({ place: at(name), what: sends ? 'it is required now' : 'it may be absent now' })
  if (!sends) return changes
  for (const name of Object.keys(given.properties ?? {}))
    if (!taken.properties?.[name]) changes.push({ place: at(name), what: 'it is no longer accepted' })
  return [...changes, ...otherFieldChanges(comparison, given, taken, place)]
}

function otherFieldChanges(comparison: Comparison, given: Schema, taken: Schema, place: string): Change[] {
  const from = given.additionalProperties ?? true
  const to = taken.additionalProperties ?? true
  if (from === false || to === true) return []
  if (to === false) return [{ place, what: 'other fields are not taken any more' }]
  return schemaChanges(paired(comparison, from === true ? {} : from, to), `${place}.*`)
}

function told(value: unknown): string {
  return value === undefined ? 'not set' : JSON.stringify(value)
}
