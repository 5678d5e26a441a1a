import type { ErrorCode } from '../errors/catalogue.ts'
import type { Item } from './keys.ts'
import type { Condition } from './table.ts'

/** One write of an endpoint, as data: only the platform performs it, with all others of the request or not at all. */
export interface Write {
  item: Item
  condition: Condition
  /** The error of the request when the condition does not hold. */
  otherwise: ErrorCode
}

/** A new item, never over one that is there. */
export function create(item: Item, otherwise: ErrorCode = 'INTERNAL.unexpected'): Write {
  return { item, condition: { absent: true }, otherwise }
}

/** The whole of an item anew, if it still has these values. */
export function replace(item: Item, matches: Record<string, string | number>, otherwise: ErrorCode): Write {
  return { item, condition: { matches }, otherwise }
}
