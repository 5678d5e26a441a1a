import type { Range, RangeRead, Table } from '../table/table.ts'

/** Reads one range over all partitions of an entity as if it were one, each partition with the same limit. */
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
  // Past the last item of a partition that has more to give, the order of the others is not yet known.
  const ends = reads.flatMap(({ items, exhausted }) => (exhausted ? [] : [items.at(-1)?.sk ?? '']))
  const safe = merged.filter(({ sk }) => ends.every((end) => (range.descending ? sk >= end : sk <= end)))
  const items = safe.slice(0, range.limit)
  return { items, exhausted: ends.length === 0 && items.length === merged.length }
}
