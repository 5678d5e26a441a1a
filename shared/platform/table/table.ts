import type { ErrorCode } from '../../error-catalog.ts'
import type { Budget, Clock } from '../base/clock.ts'
import type { Units } from '../base/units.ts'
import type { Entity, Item, Key, PartitionKind } from './keys.ts'

/** An inclusive range of sort keys in one partition, and the direction in which it is read. */
export interface Range {
  partition: string
  low: string
  high: string
  descending: boolean
  /** The maximum number of items to read. */
  limit: number
}

export interface RangeRead {
  items: Item[]
  /** True when nothing of the range is left. */
  exhausted: boolean
}

/**
 * The condition of a write: the item is absent; absent or expired by a time; the item or its attribute is absent, or the
 * attribute has a smaller value; the item is absent or has a shorter list; or it meets a `StateCondition`.
 */
export type Condition =
  | { absent: true }
  /** Seconds since 1970. The condition compares `expires_at`, as TTL deletes late. */
  | { absentOrExpiredBy: number }
  | { absentOrBelow: { attribute: string; value: string | number } }
  /** Absent, or a list with fewer elements. */
  | { absentOrShorter: { attribute: string; length: number } }
  | StateCondition

/** A condition on an existing item. */
export interface StateCondition {
  /** Attributes with these values. */
  matches: Record<string, string | number>
  /** Attributes with one of these values each. */
  oneOf?: Record<string, readonly string[]>
  /** Attributes with a smaller value. */
  below?: Record<string, string | number>
  /** Attributes that are absent. On its own, it holds for an absent item, too. */
  lacks?: readonly string[]
}

/** Creates or replaces a whole item. `none` overwrites any item. */
export interface Put {
  item: Item
  condition: Condition | 'none'
}

/** Changes some attributes of an item without reading it. Operands are the values from before the update. */
export interface Update {
  update: Key
  set: Record<string, unknown>
  /** Attributes that get the value of another: target to source. */
  copy?: Record<string, string>
  increment?: readonly string[]
  /** Numbers to add to attributes; an absent attribute counts as 0. */
  add?: Record<string, number>
  /** Elements to append to lists; an absent attribute counts as empty. */
  append?: Record<string, readonly unknown[]>
  condition: Condition | 'none'
}

/** Deletes an item. With `none`, the item may be absent already. */
export interface Remove {
  remove: Key
  condition: Condition | 'none'
}

/** Requires something of an item that a transaction does not change. */
export interface Check {
  check: Key
  condition: Condition
}

/** One change of a transaction, rejected if its condition fails. */
export type Change = Put | Update | Remove | Check

/** Returns the key of the item that a change writes or checks. */
export function keyOfChange(change: Change): Key {
  if ('item' in change) return { pk: change.item.pk, sk: change.item.sk }
  if ('update' in change) return change.update
  return 'remove' in change ? change.remove : change.check
}

/** The reason of a rejected transaction: the first change whose condition failed, and the existing item. */
export interface Refusal {
  index: number
  existing: Item | undefined
}

/**
 * The table API of the platform. While the table is busy, calls are retried within the request's budget; then they fail
 * with DEPENDENCY.timeout or DEPENDENCY.unavailable. Reads are strongly consistent, but for searches by id.
 */
export interface Table {
  get(key: Key): Promise<Item | undefined>
  /** Returns items by key, at most 100, in no order. Absent items are left out. */
  getMany(keys: readonly Key[]): Promise<Item[]>
  readRange(range: Range): Promise<RangeRead>
  /** Returns the key of an entity by id in any tenant. It reads an index, which is eventually consistent. */
  findById(entity: Entity, id: string): Promise<Key | undefined>
  /** Commits all changes or none. */
  transact(changes: readonly Change[]): Promise<Refusal | undefined>
  /** Commits one put, under its condition. */
  put(put: Put): Promise<Refusal | undefined>
  /** Commits one update, under its condition. A lost response may lead to a second attempt, which has its effect again. */
  update(update: Update): Promise<Refusal | undefined>
  /** Inserts at most 25 items, each independently. @returns those that exist already, also from a lost attempt */
  insertMany(items: readonly Item[]): Promise<Item[]>
}

/** The calls of the table that permissions distinguish. `find` reads the index by id. */
export type TableCall =
  | 'get'
  | 'getMany'
  | 'query'
  | 'find'
  | 'put'
  | 'update'
  | 'insert'
  | 'delete'
  | 'check'

/** The items that a function accesses with each call. Its permissions on the table come only from these. */
export type TableUse = { readonly [Call in TableCall]?: readonly PartitionKind[] }

/**
 * Whether a call may fail at once while its partition throttles: `sheddable` is a request whose caller retries later,
 * `critical` is everything else.
 */
export type Criticality = 'sheddable' | 'critical'

/** The terms on which a table is opened for one unit of work. */
export interface TableAccess {
  clock: Clock
  budget: Budget
  /** `critical` if absent. */
  criticality?: Criticality
  /** Receives what each call consumed. */
  units?: Units
}

/** Names the capacity that reads of a partition use. DynamoDB limits reads and writes of a partition key separately. */
export function readCapacity(partition: string): string {
  return `read ${partition}`
}

/** Names the capacity that a change uses. */
export function writeCapacity(change: Change): string {
  return `write ${keyOfChange(change).pk}`
}

/** Whether a call reads, by the capacities that it uses. */
export function isReadCapacity([capacity = '']: readonly string[]): boolean {
  return capacity.startsWith('read ')
}

/** A write of an endpoint, as data. The platform commits all writes of a request in one transaction. */
export type Write = Change & {
  /** The error of the request if the condition fails. */
  onFailure: ErrorCode
}

/** Returns a write that creates an item and never overwrites one. */
export function create(item: Item, onFailure: ErrorCode = 'INTERNAL.unexpected'): Write {
  return { item, condition: { absent: true }, onFailure }
}

/** Returns a write of a whole item that overwrites any existing one. */
export function put(item: Item): Write {
  return { item, condition: 'none', onFailure: 'INTERNAL.unexpected' }
}

/** Returns a write that replaces an item if it still has these values. */
export function replace(item: Item, matches: Record<string, string | number>, onFailure: ErrorCode): Write {
  return { item, condition: { matches }, onFailure }
}

/** Returns a write that deletes an item if it still has these values. */
export function remove(key: Key, matches: Record<string, string | number>, onFailure: ErrorCode): Write {
  return { remove: key, condition: { matches }, onFailure }
}

/** Returns the condition that an item exists in one of these states, with these values. */
export function inState(
  states: readonly string[],
  matches: Record<string, string | number> = {},
): StateCondition {
  return { matches, oneOf: { state: states } }
}

/** Enough for throughput while another service is slow, few enough to leave capacity to requests. */
const atOnce = 8

/** Works on values in their order, eight at a time. */
export async function inParallel<One>(all: readonly One[], work: (one: One) => Promise<void>): Promise<void> {
  const waiting = all.values()
  async function next(): Promise<void> {
    for (const one of waiting) await work(one)
  }
  await Promise.all(Array.from({ length: atOnce }, next))
}

/** Takes one item of each queue, then a second of each, and so on: no queue waits for the end of another. */
export function roundRobin<T>(queues: readonly (readonly T[])[], most = Number.POSITIVE_INFINITY): T[] {
  const chosen: T[] = []
  for (let round = 0, left = queues; left.length > 0; round += 1) {
    left = left.filter((queue) => queue.length > round)
    chosen.push(...left.map((queue) => queue[round] as T))
  }
  return chosen.slice(0, most)
}
