import { adjacentId, type Bounds, largestId, smaller, smallestId } from '../base/clock.ts'
import { type Item, keyOf } from '../table/keys.ts'
import type { Table } from '../table/table.ts'
import type { ListQuery } from './list-query.ts'
import type { FindIndex, Listing, SortIndex } from './listing.ts'

/** What reading a list needs: the query of a caller within one tenant, and the limits of a page. */
export interface ListRead {
  table: Table
  tenant: string
  listing: Listing
  query: ListQuery
  /** The number of shards that the lists of the tenant read. */
  shards: number
  /** The fields that `q` searches. */
  searchFields: readonly string[]
  /** Milliseconds since 1970. */
  now: number
  /** The maximum number of items to read, which bounds a request with a selective filter. */
  readBudget: number
  /** The maximum size of the items of a page, in bytes; the first item is always included. */
  byteBudget: number
  sizeOf: (item: Item) => number
  /** Called once, before a page reads more than any page without filters. It may refuse. */
  beforeMore?: () => Promise<void>
}

/** A range of sort keys and the direction in which it is read. */
export interface KeyRange extends Bounds {
  descending: boolean
  /** The maximum number of entries to read. */
  limit: number
}

/**
 * Reads on in a range of sort keys: at least one entry unless the range is exhausted.
 * @param enough the number of entries with which it may end before `limit`
 */
export type EntryReader = (limit: number, enough: number) => Promise<KeyRangeRead>

interface IndexEntry {
  sortKey: string
  /** Undefined if it is gone or cannot belong to the pagination session. */
  item: Item | undefined
}

interface KeyRangeRead {
  entries: IndexEntry[]
  /** True when nothing of the range is left. */
  exhausted: boolean
}

/**
 * The sort keys in the order of a SortIndex: the value, # and the id. Every character of a value is above #,
 * so sort keys sort by value, then by id. The key of an entry is its sort key, or the value alone, which sorts right before
 * all sort keys of that value. An item keeps its sort key when its entry changes between the two keys.
 */

/** Returns the value in a sort key or in the key of an entry. */
export function valueIn(key: string): string {
  const [value = ''] = key.split('#')
  return value
}

export function sortKeyOf(key: string, id: string): string {
  return `${valueIn(key)}#${id}`
}

/** Returns the adjacent sort key, whether or not an item has it. */
export function adjacentKey(sortKey: string, steps: 1 | -1): string {
  const value = valueIn(sortKey)
  return `${value}#${adjacentId(sortKey.slice(value.length + 1), steps)}`
}

/** Returns the range of all sort keys of one value. */
export function keysOfValue(value: string): Bounds {
  return { low: `${value}#${smallestId}`, high: `${value}#${largestId}` }
}

/** The range of the sort keys of all possible values. */
export const allKeys: Bounds = { low: keysOfValue('$').low, high: keysOfValue('\u007f').high }

interface IndexRead {
  /** In the requested order. */
  found: { sortKey: string; id: string }[]
  /** True when nothing of the range is left. */
  exhausted: boolean
}

/**
 * Reads a range of sort keys of an index. The key of an entry may be the value alone, which sorts before all sort keys of
 * this value. If the keys that were read start among these, that entry is read separately. An entry may change its key
 * between two reads, so one of its two keys is read both before and after the other.
 */
export async function readIndex(
  source: Pick<ListRead, 'table' | 'tenant'>,
  index: SortIndex,
  range: KeyRange,
): Promise<IndexRead> {
  const { low, high, descending, limit } = range
  if (low > high) return { found: [], exhausted: true }
  const from = low === keysOfValue(valueIn(low)).low ? valueIn(low) : low
  const { pk: partition } = keyOf(source.tenant, index.entity, from)
  // One more: the entry at an end may have its sort key outside the range.
  const keys = { partition, low: from, high, descending, limit: limit + 1 }
  const before = await entryUnderValue(from)
  const read = await source.table.readRange(keys)
  const after = await entryUnderValue(from)
  const end = read.exhausted ? undefined : read.items.at(-1)?.sk
  const entries = [before, after, ...read.items]
  if (descending && end !== undefined && end !== valueIn(end)) {
    entries.push(await entryUnderValue(end))
    const again = { ...keys, low: end, high: smaller(high, keysOfValue(valueIn(end)).high) }
    entries.push(...(await source.table.readRange(again)).items)
  }
  const sortKeys = new Map<string, string>()
  for (const entry of entries) {
    if (entry) sortKeys.set(sortKeyOf(entry.sk, index.idOf(entry)), index.idOf(entry))
  }
  const found = Array.from(sortKeys, ([sortKey, id]) => ({ sortKey, id }))
    .filter(({ sortKey }) => sortKey >= low && sortKey <= high)
    // Beyond the last key that was read, some sort keys are still unknown.
    .filter(({ sortKey }) => end === undefined || (descending ? sortKey >= end : sortKey <= end))
    .sort((a, b) => (a.sortKey < b.sortKey === descending ? 1 : -1))
  return { found: found.slice(0, limit), exhausted: end === undefined && found.length <= limit }

  /** Returns the entry whose key is the value alone, if the given key is a sort key of that value. */
  async function entryUnderValue(key: string): Promise<Item | undefined> {
    const value = valueIn(key)
    return value === key ? undefined : source.table.get(keyOf(source.tenant, index.entity, value))
  }
}

/** The maximum number of items that one request reads by key. */
export const maxKeys = 100

/** Returns the ids of the items with a value, in their order; undefined if one request cannot read them all. */
export async function idsOf(
  { table, tenant }: Pick<ListRead, 'table' | 'tenant'>,
  { entity, nameOf, idOf }: FindIndex,
  value: string,
): Promise<string[] | undefined> {
  const low = nameOf?.(value) ?? value
  const { pk: partition } = keyOf(tenant, entity, low)
  const range = { partition, low, high: keysOfValue(low).high, descending: false, limit: maxKeys }
  const { items, exhausted } = await table.readRange(range)
  return exhausted ? items.map(idOf).sort() : undefined
}
