import type { Range, RangeRead, Table } from '../table/table.ts'

/** Reads one range of all partitions of an entity, each with the same limit, and merges the results. */
export async function readMerged(
  table: Table,
  partitions: readonly string[],
  range: Omit<Range, 'partition'>,
): Promise<RangeRead> {
  const reads = await Promise.all(partitions.map((partition) => table.readRange({ ...range, partition })))
  const [only] = reads
  if (reads.length === 1 && only) return only
  const sign = range.descending ? -1 : 1
  const merged = reads.flatMap(({ items }) => items).sort((a, b) => (a.sk < b.sk ? -sign : sign))
  // After the last item of a partition that is not exhausted, an unread item may come next.
  const ends = reads.flatMap(({ items, exhausted }) => (exhausted ? [] : [items.at(-1)?.sk ?? '']))
  const safe = merged.filter(({ sk }) => ends.every((end) => (range.descending ? sk >= end : sk <= end)))
  const items = safe.slice(0, range.limit)
  return { items, exhausted: ends.length === 0 && items.length === merged.length }
}
