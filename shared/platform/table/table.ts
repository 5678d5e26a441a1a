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

/**
 * What must hold of an item for it to be written: it is absent; absent or expired by then; absent or with a smaller
 * value; or a `StateCondition`.
 */
export type Condition =
  | { absent: true }
  /** Seconds since 1970. The clock decides, as TTL deletes late. */
  | { absentOrExpiredBy: number }
  | { absentOrBelow: { attribute: string; value: string | number } }
  | StateCondition

/** What must hold of an item that is there. */
export interface StateCondition {
  /** Attributes with these values. */
  matches: Record<string, string | number>
  /** Attributes with one of these values each. */
  oneOf?: Record<string, readonly string[]>
  /** Attributes with a smaller value. */
  below?: Record<string, string>
}

/** The whole of an item, new or anew; `none` where whatever was there may go. */
export interface Put {
  item: Item
  condition: Condition | 'none'
}

/** Some attributes of an item that was not read. All of it works on the values from before. */
export interface Update {
  update: Key
  set: Record<string, unknown>
  /** Attributes that take over the value of another: target to source. */
  copy?: Record<string, string>
  increment?: readonly string[]
  /** What is added to attributes; one that is absent counts as 0. */
  add?: Record<string, number>
  condition: Condition | 'none'
}

/** The end of an item; `none` where it is as good that it has ended already. */
export interface Remove {
  remove: Key
  condition: Condition | 'none'
}

/** One change of a transaction, refused when its condition does not hold. */
export type Change = Put | Update | Remove

/** Why a transaction was refused: the first change whose condition did not hold, and the item that stood in its way. */
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
  /** Items by their keys, at most 100, in no order; those that are absent are left out. */
  getMany(keys: readonly Key[]): Promise<Item[]>
  readRange(range: Range): Promise<RangeRead>
  /** The keys of an entity by its id in whatever tenant it lies: an index, so it may lag by moments. */
  findById(entity: Entity, id: string): Promise<Key | undefined>
  /** All changes or none. */
  transact(changes: readonly Change[]): Promise<Refusal | undefined>
  /** One put on its own, under the same condition. */
  put(put: Put): Promise<Refusal | undefined>
  /** New items, at most 25, each on its own. @returns those that are there already, or were written by a lost attempt */
  insertMany(items: readonly Item[]): Promise<Item[]>
}
