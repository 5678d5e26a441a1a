import { adjacentId, lastIdAt, smallestId } from '../base/ids.ts'
import type { Item } from './keys.ts'
import type { Table } from './table.ts'

const mostEntries = 20_000
const pageSize = 1000

/**
 * Returns the entries of pending work that are older than a given time, oldest first, at most 20,000. Only beyond that
 * number can the entries of one tenant hide those of another.
 * @param partition the partition of the entries, whose sort keys are UUIDv7
 * @param olderThan milliseconds since 1970
 */
export async function pendingEntries(table: Table, partition: string, olderThan: number): Promise<Item[]> {
  const range = { partition, high: lastIdAt(olderThan), descending: false, limit: pageSize }
  const entries: Item[] = []
  for (let low = smallestId; entries.length < mostEntries; ) {
    const { items, exhausted } = await table.readRange({ ...range, low })
    entries.push(...items)
    if (exhausted) break
    low = adjacentId(String(items.at(-1)?.sk), 1)
  }
  return entries
}

/** Takes one item of each queue, then a second of each, and so on: no queue waits for the end of another. */
export function roundRobin<T>(queues: readonly (readonly T[])[], most = Number.POSITIVE_INFINITY): T[] {
  const chosen: T[] = []
  for (let round = 0, left = queues; left.length > 0 && chosen.length < most; round += 1) {
    left = left.filter((queue) => queue.length > round)
    chosen.push(...left.map((queue) => queue[round] as T))
  }
  return chosen.slice(0, most)
}
