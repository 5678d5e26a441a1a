import { byIdIndex, type Item, type Key } from '#shared/platform/table/keys.ts'
import {
  type Change,
  type Condition,
  keyOfChange,
  type Range,
  type RangeRead,
  type Update,
} from '#shared/platform/table/table.ts'

/** One change of an item, as the stream of the table reports it. */
export interface StreamRecord {
  /** Increases with each change of the table. */
  sequence: number
  before: Item | undefined
  after: Item | undefined
}

/** The state of an item in the index, which follows the table after a lag. */
interface IndexEntry {
  key: Key
  visibleFrom: number
  hiddenFrom: number
}

interface StoreOptions {
  /** Milliseconds since 1970. */
  now?: () => number
  /** Returns the lag of the index for one change, in milliseconds. */
  indexLag?: () => number
  /** Called for each changed item, in the order of the changes. */
  onRecord?: (record: StreamRecord) => void
}

const maxInTransaction = 100
const maxInBatchRead = 100
const maxInBatchInsert = 25
/** How long DynamoDB remembers the token of a transaction, in milliseconds. */
const tokenMilliseconds = 600_000

/** An error as the SDK throws it. */
export function serviceError(name: string, more: object = {}): Error {
  return Object.assign(new Error(name), { name, ...more })
}

const invalid = (reason: string) => serviceError('ValidationException', { reason })

/**
 * A table in memory, with the semantics of DynamoDB: each call takes effect at once or throws the error of the SDK.
 * `memoryTable` puts the table API of the platform in front of it. It has no limit on the bytes of an item or a page.
 */
export class MemoryStore {
  readonly #partitions = new Map<string, { sortKeys: string[]; items: Map<string, Item> }>()
  readonly #index = new Map<string, IndexEntry[]>()
  readonly #tokens = new Map<string, number>()
  readonly #now: () => number
  readonly #indexLag: () => number
  readonly #onRecord: (record: StreamRecord) => void
  #sequence = 0

  constructor({ now = () => 0, indexLag = () => 0, onRecord = () => {} }: StoreOptions = {}) {
    this.#now = now
    this.#indexLag = indexLag
    this.#onRecord = onRecord
  }

  /** Returns all items, by partition and sort key. */
  all(): Item[] {
    return [...this.#partitions.values()].flatMap(({ sortKeys, items }) =>
      sortKeys.map((sk) => items.get(sk) as Item),
    )
  }

  get(key: Key): Item | undefined {
    checkKey(key)
    const item = this.#find(key)
    return item && copy(item)
  }

  getMany(keys: readonly Key[]): Item[] {
    const distinct = new Set(keys.map(nameOf))
    if (distinct.size !== keys.length || keys.length > maxInBatchRead) throw invalid('keys')
    return keys.flatMap((key) => this.get(key) ?? [])
  }

  readRange({ partition, low, high, descending, limit }: Range): RangeRead {
    if (limit < 1 || compareText(low, high) > 0) throw invalid('range')
    const { sortKeys, items } = this.#partitions.get(partition) ?? { sortKeys: [], items: new Map() }
    const from = positionOf(sortKeys, low)
    const to = positionOf(sortKeys, high)
    const within = sortKeys.slice(from, sortKeys[to] === high ? to + 1 : to)
    if (descending) within.reverse()
    const read = within.slice(0, limit)
    // DynamoDB knows that nothing is left only if it reads past the end, or if it reads the last key of the range.
    const exhausted = within.length < limit || read.at(-1) === (descending ? low : high)
    return { items: read.map((sk) => copy(items.get(sk))), exhausted }
  }

  /** Returns the keys of the items with an id, as far as the index knows them. */
  findIndexed(id: string): Key[] {
    const now = this.#now()
    const entries = this.#index.get(id) ?? []
    return entries
      .filter(({ visibleFrom, hiddenFrom }) => visibleFrom <= now && now < hiddenFrom)
      .map(({ key }) => key)
  }

  /** @throws ConditionalCheckFailedException with the existing item */
  put(change: Change): void {
    checkChange(change)
    const existing = this.#find(keyOfChange(change))
    if (!holds(change.condition, existing)) {
      throw serviceError('ConditionalCheckFailedException', { Item: existing && copy(existing) })
    }
    this.#write(keyOfChange(change), this.#after(change))
  }

  /**
   * @param token makes a repeated call succeed without effect for ten minutes
   * @param conflicts the positions of changes that another transaction is working on
   * @throws TransactionCanceledException with a reason for each change, and the existing items
   */
  transact(changes: readonly Change[], token: string, conflicts: readonly number[] = []): void {
    const now = this.#now()
    const known = this.#tokens.get(token)
    if (known !== undefined && now - known < tokenMilliseconds) return
    const distinct = new Set(changes.map((change) => nameOf(keyOfChange(change))))
    if (changes.length === 0 || changes.length > maxInTransaction || distinct.size !== changes.length) {
      throw invalid('changes')
    }
    changes.forEach(checkChange)
    const results: (Item | undefined)[] = []
    const reasons = changes.map((change, index) => {
      const existing = this.#find(keyOfChange(change))
      if (!holds(change.condition, existing)) {
        return { Code: 'ConditionalCheckFailed', ...(existing && { Item: copy(existing) }) }
      }
      results[index] = this.#after(change)
      return { Code: conflicts.includes(index) ? 'TransactionConflict' : 'None' }
    })
    if (reasons.some(({ Code }) => Code !== 'None')) {
      throw serviceError('TransactionCanceledException', { CancellationReasons: reasons })
    }
    changes.forEach((change, index) => {
      this.#write(keyOfChange(change), results[index])
    })
    this.#tokens.set(token, now)
  }

  /** Inserts items, each independently. @returns whether each one existed already */
  insertMany(items: readonly Item[]): boolean[] {
    const distinct = new Set(items.map(nameOf))
    if (distinct.size !== items.length || items.length > maxInBatchInsert) throw invalid('items')
    const puts = items.map((item) => ({ item, condition: 'none' as const }))
    puts.forEach(checkChange)
    return puts.map((put) => {
      if (this.#find(put.item)) return true
      this.#write(put.item, this.#after(put))
      return false
    })
  }

  /** Deletes the items that have expired, as time to live does. @param seconds since 1970 */
  deleteExpired(seconds: number): void {
    for (const item of this.all()) if (Number(item.expires_at) < seconds) this.#write(item, undefined)
  }

  /** Takes changes back, as a restore to an earlier time does. @param records the latest changes, in their order */
  takeBack(records: readonly StreamRecord[]): void {
    for (const { before, after } of records.toReversed()) this.#set((before ?? after) as Item, before)
  }

  #find({ pk, sk }: Key): Item | undefined {
    return this.#partitions.get(pk)?.items.get(sk)
  }

  /** Returns the item after a change; undefined if it is absent then. */
  #after(change: Change): Item | undefined {
    if ('remove' in change) return undefined
    if ('check' in change) return this.#find(change.check)
    return 'item' in change ? copy(change.item) : updated(this.#find(change.update), change)
  }

  #write(key: Key, after: Item | undefined): void {
    const before = this.#find(key)
    if (before === undefined && after === undefined) return
    this.#set(key, after)
    // DynamoDB reports no change of an item that stays the same.
    if (before && after && equal(before, after)) return
    this.#sequence += 1
    this.#onRecord({ sequence: this.#sequence, before, after })
  }

  #set(key: Key, after: Item | undefined): void {
    const before = this.#find(key)
    const partition = this.#partitions.get(key.pk) ?? { sortKeys: [], items: new Map<string, Item>() }
    this.#partitions.set(key.pk, partition)
    const { sortKeys, items } = partition
    const position = positionOf(sortKeys, key.sk)
    if (!before) sortKeys.splice(position, 0, key.sk)
    if (after) items.set(key.sk, after)
    else {
      sortKeys.splice(position, 1)
      items.delete(key.sk)
    }
    if (before?.id !== after?.id) this.#reindex(key, before, after)
  }

  #reindex({ pk, sk }: Key, before: Item | undefined, after: Item | undefined): void {
    const at = this.#now() + this.#indexLag()
    for (const entry of this.#index.get(String(before?.id)) ?? []) {
      if (nameOf(entry.key) === nameOf({ pk, sk })) entry.hiddenFrom = Math.min(entry.hiddenFrom, at)
    }
    if (after?.id === undefined) return
    const entries = this.#index.get(String(after.id)) ?? []
    const hiddenFrom = Number.POSITIVE_INFINITY
    this.#index.set(String(after.id), [...entries, { key: { pk, sk }, visibleFrom: at, hiddenFrom }])
  }
}

function nameOf({ pk, sk }: Key): string {
  return JSON.stringify([pk, sk])
}

/** Rejects a change that DynamoDB refuses whatever its table holds. */
function checkChange(change: Change): void {
  checkKey(keyOfChange(change))
  if (change.condition !== 'none' && 'matches' in change.condition) {
    const { matches, oneOf = {}, below = {}, lacks = [] } = change.condition
    const parts = [matches, oneOf, below].flatMap((part) => Object.keys(part)).concat(lacks)
    const lacksValues = Object.values(oneOf).some((values) => values.length === 0)
    if (parts.length === 0 || lacksValues) throw invalid('condition')
  }
  if ('item' in change) {
    const { id = 'absent' } = change.item
    if (typeof id !== 'string' || id === '') throw invalid(`key of ${byIdIndex}`)
  } else if ('update' in change) {
    const { set, copy: copies = {}, increment = [], add = {}, append = {} } = change
    const targets = [set, copies, add, append].flatMap((part) => Object.keys(part)).concat(increment)
    const isOfKey = targets.includes('pk') || targets.includes('sk')
    if (targets.length === 0 || isOfKey || new Set(targets).size !== targets.length) throw invalid('update')
    if (Object.values(set).includes(undefined)) throw invalid('value')
  }
}

function checkKey({ pk, sk }: Key): void {
  if (typeof pk !== 'string' || typeof sk !== 'string' || pk === '' || sk === '') throw invalid('key')
}

/** Returns whether a condition holds. A comparison of different types, or with an absent attribute, fails. */
function holds(condition: Condition | 'none', existing: Item | undefined): boolean {
  if (condition === 'none') return true
  if ('absent' in condition) return existing === undefined
  if ('absentOrExpiredBy' in condition) {
    return existing === undefined || !isAbove(existing.expires_at, condition.absentOrExpiredBy)
  }
  if ('absentOrBelow' in condition) {
    const { attribute, value } = condition.absentOrBelow
    return existing?.[attribute] === undefined || isBelow(existing[attribute], value)
  }
  if ('absentOrShorter' in condition) {
    const { attribute, length } = condition.absentOrShorter
    const list = existing?.[attribute]
    return existing === undefined || (Array.isArray(list) && list.length < length)
  }
  const { matches, oneOf = {}, below = {}, lacks = [] } = condition
  return (
    Object.entries(matches).every(([name, value]) => existing?.[name] === value) &&
    Object.entries(oneOf).every(([name, values]) => values.includes(existing?.[name] as string)) &&
    Object.entries(below).every(([name, value]) => isBelow(existing?.[name], value)) &&
    lacks.every((name) => existing?.[name] === undefined)
  )
}

function isBelow(actual: unknown, value: string | number): boolean {
  if (typeof actual === 'number' && typeof value === 'number') return actual < value
  return typeof actual === 'string' && typeof value === 'string' && compareText(actual, value) < 0
}

function isAbove(actual: unknown, value: number): boolean {
  return typeof actual !== 'number' || actual > value
}

/** Returns an item after an update. Operands are the values from before it. */
function updated(existing: Item | undefined, change: Update): Item {
  const { update, set, copy: copies = {}, increment = [], add = {}, append = {} } = change
  const sums: Record<string, number> = {
    ...Object.fromEntries(increment.map((name) => [name, 1])),
    ...add,
  }
  const after: Item = { ...(existing ?? { pk: update.pk, sk: update.sk }) }
  for (const [name, value] of Object.entries(set)) after[name] = copy(value)
  for (const [target, source] of Object.entries(copies)) {
    if (existing?.[source] === undefined) throw invalid('operand')
    after[target] = copy(existing[source])
  }
  for (const [name, summand] of Object.entries(sums)) {
    // A null is a value: DynamoDB adds to an absent attribute only.
    const before = existing?.[name] === undefined ? 0 : existing[name]
    if (typeof before !== 'number') throw invalid('operand')
    after[name] = before + summand
  }
  for (const [name, elements] of Object.entries(append)) {
    const before = existing?.[name] === undefined ? [] : existing[name]
    if (!Array.isArray(before)) throw invalid('operand')
    after[name] = [...before, ...copy(elements)]
  }
  return after
}

/** Copies a value as writing and reading it does: undefined members are left out. */
function copy<T>(value: T): T {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new Error('a number that is not finite')
  if (typeof value === 'function' || typeof value === 'symbol') throw new Error('a value without a type')
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.filter((one) => one !== undefined).map(copy) as T
  if (value instanceof Uint8Array) return new Uint8Array(value) as T
  if (value instanceof Set) return new Set(value) as T
  const copied: Record<string, unknown> = {}
  for (const name in value) {
    const member = (value as Record<string, unknown>)[name]
    if (member !== undefined) copied[name] = copy(member)
  }
  return copied as T
}

/** Returns whether two values are the same to the table. The order of members does not matter. */
function equal(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || !one || !other) return one === other
  if (one instanceof Set && other instanceof Set) return equal([...one].sort(), [...other].sort())
  const names = Object.keys(one)
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => equal(one[name as keyof typeof one], other[name as keyof typeof other]))
  )
}

/** Returns the position of a key in sorted keys, or the one at which it belongs. */
function positionOf(sorted: readonly string[], key: string): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareText(sorted[middle] as string, key) < 0) low = middle + 1
    else high = middle
  }
  return low
}

/** Compares by UTF-8 bytes. JavaScript compares UTF-16 units, which sorts surrogates before U+E000 to U+FFFF. */
function compareText(one: string, other: string): number {
  const length = Math.min(one.length, other.length)
  for (let at = 0; at < length; at += 1) {
    const [a, b] = [one.charCodeAt(at), other.charCodeAt(at)]
    if (a !== b) return rankOf(a) - rankOf(b)
  }
  return one.length - other.length
}

function rankOf(unit: number): number {
  if (unit < 0xd800) return unit
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}
