import type { ErrorCode } from '../errors/catalogue.ts'
import type { Item, Key } from './keys.ts'
import type { Change, StateCondition } from './table.ts'

/** A write of an endpoint, as data. The platform commits all writes of a request in one transaction. */
export type Write = Change & {
  /** The error of the request if the condition fails. */
  otherwise: ErrorCode
}

/** Returns a write that creates an item and never overwrites one. */
export function create(item: Item, otherwise: ErrorCode = 'INTERNAL.unexpected'): Write {
  return { item, condition: { absent: true }, otherwise }
}

/** Returns a write of a whole item that overwrites any existing one. */
export function put(item: Item): Write {
  return { item, condition: 'none', otherwise: 'INTERNAL.unexpected' }
}

/** Returns a write that replaces an item if it still has these values. */
export function replace(item: Item, matches: Record<string, string | number>, otherwise: ErrorCode): Write {
  return { item, condition: { matches }, otherwise }
}

/** Returns a write that deletes an item if it still has these values. */
export function remove(key: Key, matches: Record<string, string | number>, otherwise: ErrorCode): Write {
  return { remove: key, condition: { matches }, otherwise }
}

/** Returns the condition that an item exists in one of these states, with these values. */
export function inState(
  states: readonly string[],
  matches: Record<string, string | number> = {},
): StateCondition {
  return { matches, oneOf: { state: states } }
}
