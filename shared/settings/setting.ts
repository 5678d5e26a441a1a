import * as v from 'valibot'

/**
 * The kinds of settings:
 *
 * - `deployment`: what only the operator of a stage knows, such as its account, its domain and its partners
 * - `product`: what the API leaves open; another value is another API for its callers
 * - `tuning`: limits, pauses and sizes
 */
export const kinds = ['deployment', 'product', 'tuning'] as const
type Kind = (typeof kinds)[number]

/** A decision of each deployment. `description` is shown if the value is missing or invalid. */
interface Setting<Schema extends v.GenericSchema> {
  kind: Kind
  description: string
  schema: Schema
}

/**
 * Declares a setting. There are no defaults in code on purpose: a profile, or the base that it extends, decides each value.
 * @param description a phrase, with published practice in parentheses if there is one
 */
export function setting<const Schema extends v.GenericSchema>(
  kind: Kind,
  description: string,
  schema: Schema,
): Setting<Schema> {
  return { kind, description, schema }
}

export function integer(min: number, max = Number.MAX_SAFE_INTEGER) {
  return v.pipe(v.number(), v.integer(), v.minValue(min), v.maxValue(max))
}

/** @param expected the expected text, for the message of a value that does not match */
export function text(pattern: RegExp, expected?: string) {
  return v.pipe(v.string(), v.regex(pattern, expected && `expected ${expected}`))
}

/** A list in which nothing stands twice: the second would have no effect. */
export function list<const Schema extends v.GenericSchema>(schema: Schema) {
  return v.pipe(
    v.array(schema),
    v.check(
      (values) => twice(values) === undefined,
      ({ input }) => `names ${twice(input)} twice`,
    ),
  )
}

function twice(values: readonly unknown[]): string | undefined {
  const texts = values.map((value) => JSON.stringify(value))
  return texts.find((text, index) => texts.indexOf(text) < index)
}

/** A list that is not empty. */
export function some<const Schema extends v.GenericSchema>(schema: Schema) {
  return v.pipe(list(schema), v.minLength(1))
}

interface WindowLimit {
  limit: number
  windowSeconds: number
}

/** Returns whether one limit is reached before another one can be. The first counts all that the other counts. */
export function isReachedFirst(first: WindowLimit, other: WindowLimit): boolean {
  return first.limit * Math.ceil(other.windowSeconds / first.windowSeconds) <= other.limit
}

export const count = integer(1)
export const nonEmpty = v.pipe(v.string(), v.minLength(1))
export const headerName = text(/^[A-Za-z][A-Za-z0-9-]{1,63}$/, 'a header name')
/** How long a signed link is valid. The credentials of a function, which sign it, end after some hours. */
export const linkSeconds = integer(1, 3600)
export const scope = text(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'a scope')
export const identifier = text(/^[a-z][a-z0-9_]*$/)
export const currency = text(/^[A-Z]{3}$/)
/** Names of operations; synthesis checks that they exist. */
export const operations = list(v.string())
/** Names of fields of a resource, or all that it has; synthesis checks that they exist. */
export const fields = v.union([v.literal('all'), list(identifier)])
