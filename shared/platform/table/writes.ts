import type { ErrorCode } from '../errors/catalogue.ts'
import type { Item, Key } from './keys.ts'
import type { Change, StateCondition } from './table.ts'

/** One write of an endpoint, as data: only the platform performs it, with all others of the request or not at all. */
export type Write = Change & {
  /** The error of the request when the condition does not hold. */
  otherwise: ErrorCode
}

/** A new item, never over one that is there. */
export function create(item: Item, otherwise: ErrorCode = 'INTERNAL.unexpected'): Write {
  return { item, condition: { absent: true }, otherwise }
}

/** The whole of an item, whatever was there. */
export function put(item: Item): Write {
  return { item, condition: 'none', otherwise: 'INTERNAL.unexpected' }
}

/** The whole of an item anew, if it still has these values. */
export function replace(item: Item, matches: Record<string, string | number>, otherwise: ErrorCode): Write {
  return { item, condition: { matches }, otherwise }
}

/** The end of an item, if it still has these values. */
export function remove(key: Key, matches: Record<string, string | number>, otherwise: ErrorCode): Write {
  return { remove: key, condition: { matches }, otherwise }
}

/** A condition that holds for what is there in one of these states, with these values. */
export function inState(
  states: readonly string[],
  matches: Record<string, string | number> = {},
): StateCondition {
  return { matches, oneOf: { state: states } }
}
