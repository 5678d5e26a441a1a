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
  path: string
  change: string
}

const annotations = /^(title|description|examples?|default|deprecated|\$comment|x-.*)$/
const lowest = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties']
const highest = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties']
const structure = ['type', 'enum', 'const', 'properties', 'required', 'additionalProperties', 'items']
const known = new Set([...lowest, ...highest, ...structure])

/**
 * Returns the changes in `after` that break callers of `before`. An unknown keyword counts as a change wherever it
 * differs, so no break passes unnoticed. References are already resolved.
 */
export function schemaChanges(comparison: Comparison, path = ''): Change[] {
  const { before, after, as } = comparison
  // Every value that one side may produce must be valid for the other.
  const [produced, accepted] = as === 'sender' ? [before, after] : [after, before]
  const [from, to]: Schema[][] = [alternatives(produced), alternatives(accepted)]
  if (from?.length === 1 && to?.length === 1) return changesOfKind(comparison, produced, accepted, path)
  const fits = (one: Schema) =>
    to?.some((other) => schemaChanges(paired(comparison, one, other), path).length === 0)
  if (from?.every(fits)) return []
  const change = as === 'sender' ? 'an alternative is no longer accepted' : 'it may be something else now'
  return [{ path, change }]
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

function paired(comparison: Comparison, produced: Schema, accepted: Schema): Comparison {
  const [before, after] = comparison.as === 'sender' ? [produced, accepted] : [accepted, produced]
  return { ...comparison, before, after }
}

function changesOfKind(comparison: Comparison, produced: Schema, accepted: Schema, path: string): Change[] {
  const { before, after } = comparison
  const keywords = Object.keys(accepted).filter((keyword) => narrows(keyword, produced, accepted))
  if (accepted.items && !produced.items && produced.type === 'array') keywords.push('items')
  const items = accepted.items && produced.items && paired(comparison, produced.items, accepted.items)
  return [
    ...keywords.map((keyword) => {
      return { path, change: `${keyword} was ${text(before[keyword])}, is ${text(after[keyword])}` }
    }),
    ...memberChanges(comparison, produced, accepted).map((change) => ({ path, change })),
    ...fieldChanges(comparison, produced, accepted, path),
    ...(items ? schemaChanges(items, `${path}[]`) : []),
  ]
}

/** Returns whether a keyword of `accepted` rejects something that `produced` allows. */
function narrows(keyword: string, produced: Schema, accepted: Schema): boolean {
  if (annotations.test(keyword)) return false
  const [from, to] = [produced[keyword], accepted[keyword]]
  if (keyword === 'type') return to !== from && !(to === 'number' && from === 'integer')
  if (lowest.includes(keyword)) return !(from >= to)
  if (highest.includes(keyword)) return !(from <= to)
  // They tell generators of clients to read a file or to use 64 bits, and reject no string and no integer.
  if (keyword === 'format' && (to === 'binary' || to === 'int64')) return false
  if (keyword === 'pattern' && typeof from === 'string') return !patternIncludes(to, from)
  return !known.has(keyword) && text(from) !== text(to)
}

function memberChanges({ as, growing }: Comparison, produced: Schema, accepted: Schema): string[] {
  const members = (schema: Schema): string[] | undefined =>
    ('const' in schema ? [schema.const] : schema.enum)?.map(text)
  const allowed = members(accepted)
  if (!allowed || (growing && as === 'reader')) return []
  const others = members(produced)?.filter((member) => !allowed.includes(member))
  if (others?.length === 0) return []
  const which = others?.join(', ') ?? 'anything'
  return [as === 'sender' ? `${which} is no longer accepted` : `it may be ${which} now`]
}

function fieldChanges(comparison: Comparison, produced: Schema, accepted: Schema, path: string): Change[] {
  const sends = comparison.as === 'sender'
  const at = (name: string) => (path ? `${path}.${name}` : name)
  const other = otherFields(produced)
  const changes: Change[] = []
  for (const [name, field] of Object.entries<Schema>(accepted.properties ?? {})) {
    const same = produced.properties?.[name]
    if (same) changes.push(...schemaChanges(paired(comparison, same, field), at(name)))
    else if (!sends) changes.push({ path: at(name), change: 'it is gone' })
    // Senders may already use this name for a field of their own.
    else if (other) changes.push(...schemaChanges(paired(comparison, other, field), at(name)))
  }
  for (const name of accepted.required ?? [])
    if (!produced.required?.includes(name) && (sends || produced.properties?.[name]))
      changes.push({ path: at(name), change: sends ? 'it is required now' : 'it may be absent now' })
  if (!sends) return changes
  for (const name of Object.keys(produced.properties ?? {}))
    if (!accepted.properties?.[name] && !produced.properties[name].not)
      changes.push({ path: at(name), change: 'it is no longer accepted' })
  const { additionalProperties: allowed = true } = accepted
  if (other && allowed === false) changes.push({ path, change: 'other fields are no longer accepted' })
  else if (other && allowed !== true)
    changes.push(...schemaChanges(paired(comparison, other, allowed), `${path}.*`))
  return changes
}

/** Returns the schema of the fields that have no name in a schema, or undefined if it allows none. */
function otherFields({ additionalProperties = true }: Schema): Schema | undefined {
  return additionalProperties === true ? {} : additionalProperties || undefined
}

function text(value: unknown): string {
  return value === undefined ? 'not set' : JSON.stringify(value)
}

/** A character class and its repetition: `[A-Z]{1,16}`. */
interface Run {
  characters: RegExp
  least: number
  most: number
}

/**
 * Returns whether every text that matches `inner` matches `outer`. This is decided only for sequences of character
 * classes; any other two patterns must be equal.
 */
function patternIncludes(outer: string, inner: string): boolean {
  if (outer === inner) return true
  const [wide, narrow] = [runsOf(outer), runsOf(inner)]
  if (!wide || !narrow || wide.length !== narrow.length) return false
  return wide.every((run, index) => {
    const other = narrow[index] as Run
    return run.least <= other.least && run.most >= other.most && includes(run.characters, other.characters)
  })
}

const run = String.raw`\[((?:\\.|[^\]\\])+)\](?:\{(\d+)(?:,(\d+))?\})?`

/** Returns the character classes of a pattern, or undefined if it has anything else. */
function runsOf(pattern: string): Run[] | undefined {
  if (!new RegExp(String.raw`^\^(?:${run})+\$$`).test(pattern)) return undefined
  return Array.from(pattern.matchAll(new RegExp(run, 'g')), ([, members, least = '1', most = least]) => ({
    characters: new RegExp(`^[${members}]$`),
    least: Number(least),
    most: Number(most),
  }))
}

function includes(outer: RegExp, inner: RegExp): boolean {
  for (let unit = 0; unit < 0x10000; unit += 1) {
    const character = String.fromCharCode(unit)
    if (inner.test(character) && !outer.test(character)) return false
  }
  return true
}
