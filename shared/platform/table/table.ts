import type { Entity, Item, Key } from './keys.ts'

/** A range of one partition, both ends included, in the order in which it is read. */
export interface Range {
  partition: string
  low: string
  high: string
  descending: boolean
  /** The most items to read. */
  limit: number
}

export interface RangeRead {
  items: Item[]
  /** True when nothing of the range is left. */
  exhausted: boolean
}

/** What must hold for a put: the item is absent; absent or expired by then; or there with these very values. */
export type Condition =
  | { absent: true }
  /** Seconds since 1970. The clock decides, as TTL deletes late. */
  | { absentOrExpiredBy: number }
  | { matches: Record<string, string | number> }

/** One put of a transaction, refused when its condition does not hold. */
export interface Put {
  item: Item
  condition: Condition
}

/** Why a transaction was refused: the first put whose condition did not hold, and the item that stood in its way. */
export interface Refusal {
  index: number
  existing: Item | undefined
}

/**
 * The table as the platform needs it. Every call is retried inside the request's budget when the table is busy,
 * and fails with DEPENDENCY.timeout or DEPENDENCY.unavailable when it stays so. Reads are strongly consistent.
 */
export interface Table {
  get(key: Key): Promise<Item | undefined>
  readRange(range: Range): Promise<RangeRead>
  /** The keys of an entity by its id in whatever tenant it lies: an index, so it may lag by moments. */
  findById(entity: Entity, id: string): Promise<Key | undefined>
  /** All puts or none. */
  transact(puts: Put[]): Promise<Refusal | undefined>
  /** One put on its own, under the same condition. */
  put(put: Put): Promise<Refusal | undefined>
}
