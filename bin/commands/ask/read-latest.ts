import {
  adjacentId,
  firstIdAt,
  isId,
  largestId,
  lastIdAt,
  smaller,
  smallestId,
} from '#shared/platform/base/clock.ts'
import { readAll } from '#shared/platform/listing/merge.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import type { Table } from '#shared/platform/table/table.ts'
import type { Answer, Query } from './query.ts'

/** The most items that one answer looks at, so that a filter which nothing meets ends soon. */
const mostItems = 10_000
/** The most items that are held in memory. */
const mostAtOnce = 1000
/** The most items that are read together: a batch of BatchGetItem has 100 keys. */
const batch = 100

/** Returns the range of ids of a query. A list continues below its cursor. */
export function idRange({ from, to, cursor }: Pick<Query, 'from' | 'to' | 'cursor'>): {
  low: string
  high: string
} {
  const high = to === undefined ? largestId : lastIdAt(to - 1)
  return {
    low: from === undefined ? smallestId : firstIdAt(from),
    high: cursor === undefined ? high : smaller(high, isId(cursor) ? adjacentId(cursor, -1) : cursor),
  }
}

/**
 * Reads the items of a range of ids, the latest first, until there are enough entries. It reads at most the items that it
 * looks at and, of each partition, a few more.
 * @param entriesOf returns the entry of each item; undefined for one that the query leaves out
 */
export async function readLatest<Entry>(
  table: Table,
  partitions: readonly string[],
  query: Query,
  entriesOf: (items: Item[]) => Promise<(Entry | undefined)[]>,
): Promise<Omit<Answer<Entry>, 'units'>> {
  const { limit, cursor } = query
  const entries: Entry[] = []
  let looked = 0
  // A small page is read by few items of each partition; what filters leave out is read in larger parts.
  const range = {
    ...idRange(query),
    descending: true,
    atOnce: isFiltered(query) ? mostAtOnce : Math.min(limit, mostAtOnce),
  }
  for await (const read of readAll(table, partitions, range)) {
    const items = read.filter(({ sk }) => sk !== cursor)
    for (let start = 0; start < items.length; ) {
      const part = items.slice(start, start + Math.min(batch, limit))
      const found = await entriesOf(part)
      for (const [at, entry] of found.entries()) {
        if (entry !== undefined) entries.push(entry)
        looked += 1
        if (entries.length >= limit || looked >= mostItems)
          return { entries, complete: false, cursor: part[at]?.sk }
      }
      start += part.length
    }
  }
  return { entries, complete: true, cursor: undefined }
}

/** Returns whether items of the range may be left out. */
function isFiltered({
  tenant: _,
  from: __,
  to: ___,
  limit: ____,
  cursor: _____,
  ...filters
}: Query): boolean {
  return Object.values(filters).some((wanted) => wanted !== undefined)
}
