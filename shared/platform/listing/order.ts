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
import { type Item, keyOf, partitionsOf } from '../table/keys.ts'
import type { Table } from '../table/table.ts'
import type { Filter, SortIndex } from './listing.ts'
import { rangeReader } from './merge.ts'
import {
  adjacentKey,
  allKeys,
  type EntryReader,
  idsOf,
  type KeyRange,
  keysOfValue,
  type ListRead,
  maxKeys,
  readIndex,
  sortKeyOf,
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
  /** Opens a range for reading. */
  open(range: Omit<KeyRange, 'limit'>, snapshotBound: string | undefined): EntryReader
  /** Returns the largest id so far. @param first the first key that was read in the session */
  newest(first: string | undefined): Promise<string | undefined>
  /** How many items of the read budget an entry takes. */
  weight: number
}

type OrderSource = Pick<ListRead, 'table' | 'tenant' | 'listing' | 'query' | 'shards' | 'now'>

/** Returns the order of a list. */
export async function orderOf(list: OrderSource): Promise<SortOrder> {
  const { query, listing } = list
  const index = query.sortedBy === undefined ? undefined : listing.orders?.[query.sortedBy]
  const order = index ? indexOrder(list, index) : idOrder(list)
  const named = namedIds(query.filters)
  if (named) return { ...order, ...namedItems(list, named) }
  const found = index ? undefined : await idsByIndex(list)
  return found ? { ...order, ...namedItems(list, found), newest: async () => found.at(-1) } : order
}

/** Returns the order by created_at, which is the time in the id: the sort key of an item is its id. */
function idOrder({ table, tenant, listing, query, shards }: OrderSource): SortOrder {
  const partitions = partitionsOf(tenant, listing.entity, shards)
  const ids = idRange(query.filters)
  return {
    fullRange: (snapshotBound) => boundedAbove(ids, snapshotBound),
    adjacent: adjacentId,
    open(range) {
      const read = rangeReader(table, partitions, range)
      return async (limit, enough) => {
        const { items, exhausted } = await read(limit, enough)
        return { entries: items.map((item) => ({ sortKey: item.sk, item })), exhausted }
      }
    },
    // In a descending session, the first key is the newest.
    newest: async (first) => (query.descending ? first : newestId(table, partitions, ids)),
    weight: 1,
  }
}

/** Returns the largest id in a range, by one item of each partition: a unit each, whatever their sizes. */
async function newestId(
  table: Table,
  partitions: readonly string[],
  ids: Bounds,
): Promise<string | undefined> {
  const range = { ...ids, descending: true, limit: 1 }
  const reads = await Promise.all(partitions.map((partition) => table.readRange({ ...range, partition })))
  const newest = reads.flatMap(({ items }) => items.map(({ sk }) => sk))
  return newest.sort().at(-1)
}

/** Returns the ids that filters name, in their order; undefined without such a filter. */
function namedIds(filters: readonly Filter[]): string[] | undefined {
  const named = filters.filter(({ field }) => field === 'id').map(({ values }) => values.map(String))
  const [first, ...others] = named
  return first
    ?.filter((id, at) => isId(id) && first.indexOf(id) === at && others.every((ids) => ids.includes(id)))
    .sort()
}

/** Returns the ids of a filter on an indexed value, in their order; undefined without one, or if they are too many. */
async function idsByIndex({ query, listing, ...source }: OrderSource): Promise<string[] | undefined> {
  for (const { field, operator, values } of query.filters) {
    const index = listing.finds?.[field] ?? listing.orders?.[field]
    if (index && operator === 'eq') return idsOf(source, index, String(values[0]))
  }
  return undefined
}

/** Returns how the items with these ids are read: by their keys. An id without an item has no match. */
function namedItems(
  { table, tenant, listing, now, query: { sortedBy } }: OrderSource,
  ids: readonly string[],
): Pick<SortOrder, 'open' | 'newest'> {
  const known = new Map<string, Item>()
  return {
    open({ low, high, descending }, snapshotBound = largestId) {
      let left: { sortKey: string; id: string }[] | undefined
      return async (limit) => {
        left ??= (await sortKeys())
          .filter(({ sortKey }) => sortKey >= low && sortKey <= high)
          .sort((one, other) => (one.sortKey < other.sortKey === descending ? 1 : -1))
        const some = left.splice(0, limit)
        await readItems(some.map(({ id }) => id))
        const entries = some.map(({ sortKey, id }) => ({
          sortKey,
          item: id <= snapshotBound ? known.get(id) : undefined,
        }))
        return { entries, exhausted: left.length === 0 }
      }
    },
    async newest() {
      // Only items from a machine whose clock is ahead: an id of the future may also be one that nobody has made.
      const ahead = ids.filter((id) => id > lastIdAt(now))
      await readItems(ahead)
      return ahead.findLast((id) => known.has(id))
    },
  }

  async function sortKeys(): Promise<{ sortKey: string; id: string }[]> {
    if (sortedBy === undefined) return ids.map((id) => ({ sortKey: id, id }))
    await readItems(ids)
    return Array.from(known, ([id, item]) => ({ sortKey: sortKeyOf(String(item[sortedBy]), id), id }))
  }

  async function readItems(some: readonly string[]): Promise<void> {
    const keys = some.filter((id) => !known.has(id)).map((id) => keyOf(tenant, listing.entity, id))
    for (const item of await table.getMany(keys)) known.set(item.sk, item)
  }
}

/** Returns the order by an indexed field: index entries hold the sort keys, and the items are read by id. */
function indexOrder({ table, tenant, listing, query, shards }: OrderSource, index: SortIndex): SortOrder {
  const ids = idRange(query.filters)
  const named = query.filters.find(({ field, operator }) => field === query.sortedBy && operator === 'eq')
  const keys = named ? keysOfValue(String(named.values[0])) : allKeys
  return {
    fullRange: () => keys,
    adjacent: adjacentKey,
    open({ descending, ...range }, snapshotBound) {
      let { low, high } = range
      // The upper bound is an id. An item created after the session started can be anywhere in this order.
      const session = boundedAbove(ids, snapshotBound)
      return async (most) => {
        const limit = Math.min(most, maxKeys)
        const { found, exhausted } = await readIndex({ table, tenant }, index, {
          low,
          high,
          descending,
          limit,
        })
        const last = found.at(-1)?.sortKey
        if (last !== undefined && descending) high = adjacentKey(last, -1)
        else if (last !== undefined) low = adjacentKey(last, 1)
        const wanted = found.filter(({ id }) => id >= session.low && id <= session.high)
        const items = await table.getMany(wanted.map(({ id }) => keyOf(tenant, listing.entity, id)))
        const byId = new Map(items.map((item) => [item.sk, item]))
        return { entries: found.map(({ sortKey, id }) => ({ sortKey, item: byId.get(id) })), exhausted }
      }
    },
    newest: () => newestId(table, partitionsOf(tenant, listing.entity, shards), ids),
    // An item that is read by its key takes a unit, as ten items of a range do.
    weight: 5,
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
    if (operator === 'gte' || operator === 'eq') low = larger(low, firstIdAt(clamped(Math.ceil(at))))
    if (operator === 'gt') low = larger(low, firstIdAt(clamped(Math.floor(at) + 1)))
    if (operator === 'lte' || operator === 'eq') high = smaller(high, lastIdAt(clamped(Math.floor(at))))
    if (operator === 'lt') high = smaller(high, lastIdAt(clamped(Math.ceil(at) - 1)))
  }
  return { low, high }
}

/** @param snapshotBound the upper bound of the snapshot */
export function boundedAbove({ low, high }: Bounds, snapshotBound: string | undefined): Bounds {
  return { low, high: snapshotBound === undefined ? high : smaller(high, snapshotBound) }
}

function clamped(milliseconds: number): number {
  return Math.min(Math.max(milliseconds, 0), endOfTime)
}
