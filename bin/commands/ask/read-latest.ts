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
import type { LineAnswer, LineQuery } from './query.ts'

/** The most items that one answer looks at, so that a filter which nothing meets ends soon. */
const mostItems = 10_000
/** The most items that are held in memory. */
const mostAtOnce = 1000
/** The most items that are read together: a batch of BatchGetItem has 100 keys. */
const batch = 100

/** Returns the range of ids of a query. A list continues below its cursor. */
export function queriedIds({ from, to, cursor }: Pick<LineQuery, 'from' | 'to' | 'cursor'>): {
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
 * Reads the items of a range of ids, the latest first, until there are enough lines. It reads at most the items that it
 * looks at and, of each partition, a few more.
 * @param linesOf returns the line of each item; undefined for one that the query leaves out
 */
export async function readLatest<Line>(
  table: Table,
  partitions: readonly string[],
  query: LineQuery,
  linesOf: (items: Item[]) => Promise<(Line | undefined)[]>,
): Promise<Omit<LineAnswer<Line>, 'units'>> {
  const { limit, cursor } = query
  const lines: Line[] = []
  let looked = 0
  // A small page is read by few items of each partition; what filters leave out is read in larger parts.
  const range = {
    ...queriedIds(query),
    descending: true,
    atOnce: isFiltered(query) ? mostAtOnce : Math.min(limit, mostAtOnce),
  }
  for await (const read of readAll(table, partitions, range)) {
    const items = read.filter(({ sk }) => sk !== cursor)
    for (let start = 0; start < items.length; ) {
      const part = items.slice(start, start + Math.min(batch, limit))
      const found = await linesOf(part)
      for (const [at, line] of found.entries()) {
        if (line !== undefined) lines.push(line)
        looked += 1
        if (lines.length >= limit || looked >= mostItems)
          return { lines, complete: false, cursor: part[at]?.sk }
      }
      start += part.length
    }
  }
  return { lines, complete: true, cursor: undefined }
}

/** Returns whether items of the range may be left out. */
function isFiltered({
  tenant: _,
  from: __,
  to: ___,
  limit: ____,
  cursor: _____,
  ...filters
}: LineQuery): boolean {
  return Object.values(filters).some((wanted) => wanted !== undefined)
}
