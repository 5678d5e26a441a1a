import {
  adjacentId,
  type Bounds,
  firstIdAt,
  isId,
  larger,
  largestId,
  lastIdAt,
  smaller,
  smallestId,
} from '../base/clock.ts'
import { keyOf, partitionsOf } from '../table/keys.ts'
import type { Table } from '../table/table.ts'
import type { Filter, SortIndex } from './listing.ts'
import { readMerged } from './merge.ts'
import {
  adjacentKey,
  allKeys,
  idsOf,
  type KeyRange,
  type KeyRangeRead,
  keysOfValue,
  type ListRead,
  readIndex,
} from './read-index.ts'

/**
 * The sort order of a list. Each item has a unique, immutable sort key in the order of the list. A page is a
 * range of these keys, so paging works the same way in every order.
 */
export interface SortOrder {
  /** Returns the key range of a pagination session. @param snapshotBound the upper bound of its snapshot, once known */
  fullRange(snapshotBound: string | undefined): Bounds
  /** Returns the adjacent key, whether or not an item has it. */
  adjacent(sortKey: string, steps: 1 | -1): string
  /** Reads a range: at least one entry unless the range is exhausted. */
  read(range: KeyRange, snapshotBound: string | undefined): Promise<KeyRangeRead>
  /** Returns the largest id so far. @param first the first key that was read in the session */
  newest(first: string | undefined): Promise<string | undefined>
  /** Returns whether everything in `fullRange` passes this filter. */
  narrows(filter: Filter): boolean
}

/** Returns the order by created_at, which is the time in the id: the sort key of an item is its id. */
export async function idOrder(
  list: Pick<ListRead, 'table' | 'tenant' | 'listing' | 'query' | 'shards'>,
): Promise<SortOrder> {
  const { table, tenant, listing, query, shards } = list
  const partitions = partitionsOf(tenant, listing.entity, shards)
  const ids = idRange(query.filters)
  // These bounds limit the reads, not the session: they change with the stored items.
  const known = await idsByIndex(list)
  return {
    fullRange: (snapshotBound) => boundedAbove(ids, snapshotBound),
    adjacent: adjacentId,
    async read({ low, high, ...rest }) {
      const range = { ...rest, low: larger(low, known?.low ?? low), high: smaller(high, known?.high ?? high) }
      const { items, exhausted } = await readMerged(table, partitions, range)
      return { entries: items.map((item) => ({ sortKey: item.sk, item })), exhausted }
    },
    // In a descending session, the first key is the newest.
    newest: async (first) => (query.descending ? first : newestId(table, partitions, ids)),
    narrows: ({ field, operator }) => field === 'created_at' && operator !== 'in',
  }
}

/** Returns the largest id in a range. */
async function newestId(
  table: Table,
  partitions: readonly string[],
  ids: Bounds,
): Promise<string | undefined> {
  const { items } = await readMerged(table, partitions, { ...ids, descending: true, limit: 1 })
  return items[0]?.sk
}

/** Returns the id range of a filter on an indexed value, if there is one. */
async function idsByIndex({
  query,
  listing,
  ...source
}: Pick<ListRead, 'table' | 'tenant' | 'listing' | 'query'>): Promise<Bounds | undefined> {
  for (const { field, operator, values } of query.filters) {
    const index = listing.orders?.[field]
    if (index && operator === 'eq') return idsOf(source, index, String(values[0]))
  }
  return undefined
}

/** The maximum number of items that one request reads by key. */
const maxItems = 100

/** Returns the order by an indexed field: index entries hold the sort keys, and the items are read by id. */
export function indexOrder(
  list: Pick<ListRead, 'table' | 'tenant' | 'listing' | 'query' | 'shards'>,
  index: SortIndex,
): SortOrder {
  const { table, tenant, listing, query, shards } = list
  const ids = idRange(query.filters)
  const named = query.filters.find(({ field, operator }) => field === query.sortedBy && operator === 'eq')
  const keys = named ? keysOfValue(String(named.values[0])) : allKeys
  return {
    fullRange: () => keys,
    adjacent: adjacentKey,
    async read(range, snapshotBound) {
      const limit = Math.min(range.limit, maxItems)
      const { found, exhausted } = await readIndex(list, index, { ...range, limit })
      // The upper bound is an id. An item created after the session started can be anywhere in this order.
      const { low, high } = boundedAbove(ids, snapshotBound)
      const wanted = found.filter(({ id }) => id >= low && id <= high)
      const items = await table.getMany(wanted.map(({ id }) => keyOf(tenant, listing.entity, id)))
      const byId = new Map(items.map((item) => [item.sk, item]))
      return { entries: found.map(({ sortKey, id }) => ({ sortKey, item: byId.get(id) })), exhausted }
    },
    newest: () => newestId(table, partitionsOf(tenant, listing.entity, shards), ids),
    narrows: (filter) => filter === named,
  }
}

/** The last millisecond that an id can hold. */
const endOfTime = 2 ** 48 - 1

/** Returns the range of ids that can pass the filters on created_at and id. The filters still run on each item. */
export function idRange(filters: readonly Filter[]): Bounds {
  let low = smallestId
  let high = largestId
  for (const { field, operator, values } of filters) {
    if (field === 'id') {
      const ids = values.map(String).filter(isId).sort()
      low = larger(low, ids[0] ?? largestId)
      high = smaller(high, ids.at(-1) ?? smallestId)
    }
    if (field !== 'created_at') continue
    const at = Number(values[0])
    if (operator === 'gte' || operator === 'eq') low = larger(low, firstIdAt(within(Math.ceil(at))))
    if (operator === 'gt') low = larger(low, firstIdAt(within(Math.floor(at) + 1)))
    if (operator === 'lte' || operator === 'eq') high = smaller(high, lastIdAt(within(Math.floor(at))))
    if (operator === 'lt') high = smaller(high, lastIdAt(within(Math.ceil(at) - 1)))
  }
  return { low, high }
}

/** @param snapshotBound the upper bound of the snapshot */
export function boundedAbove({ low, high }: Bounds, snapshotBound: string | undefined): Bounds {
  return { low, high: snapshotBound === undefined ? high : smaller(high, snapshotBound) }
}

function within(milliseconds: number): number {
  return Math.min(Math.max(milliseconds, 0), endOfTime)
}
