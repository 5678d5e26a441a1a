import { adjacentId, isId, largestId, smallestId } from '../base/clock.ts'
import { type Entity, type Item, partitionsOf } from '../table/keys.ts'
import type { Range, RangeRead, Table } from '../table/table.ts'

/** A range of sort keys in several partitions. */
type MergedRange = Omit<Range, 'partition' | 'limit'>

/** A partition of a merge. */
interface Part {
  partition: string
  /** Items that were read and not taken yet. */
  unread: Item[]
  /** The last item that was read. */
  last: Item | undefined
  exhausted: boolean
}

/** Reads a range of several partitions in one order. */
class Merge {
  readonly #parts: Part[]
  readonly #table: Table
  readonly #range: MergedRange

  constructor(table: Table, partitions: readonly string[], range: MergedRange) {
    this.#table = table
    this.#range = range
    this.#parts = partitions.map((partition) => ({
      partition,
      unread: [],
      last: undefined,
      exhausted: false,
    }))
  }

  /** True when nothing of the range is left. */
  get exhausted(): boolean {
    return this.#parts.every(({ exhausted, unread }) => exhausted && unread.length === 0)
  }

  /**
   * Reads each partition that may have more and of which at most `low` items are unread.
   * @param wanted returns the number of items to read from one. @param open the number of partitions that may have more
   */
  async fill(wanted: (open: number, part: Part) => number, low = 0): Promise<void> {
    const open = this.#parts.filter(({ exhausted }) => !exhausted)
    const needed = open.filter(({ unread }) => unread.length <= low)
    await Promise.all(needed.map((part) => this.#readOn(part, wanted(open.length, part))))
  }

  /** Takes the next items, at most `most`: none if the next one may be in a partition that has to be read first. */
  take(most: number): Item[] {
    const taken: Item[] = []
    while (
      taken.length < most &&
      this.#parts.every(({ exhausted, unread }) => exhausted || unread.length > 0)
    ) {
      const first = this.#first()
      if (!first) break
      taken.push(first.unread.shift() as Item)
    }
    return taken
  }

  #first(): Part | undefined {
    let first: Part | undefined
    for (const part of this.#parts) {
      const [item] = part.unread
      if (item && (!first || this.#isBefore(item, first.unread[0] as Item))) first = part
    }
    return first
  }

  #isBefore(one: Item, other: Item): boolean {
    return this.#range.descending ? one.sk > other.sk : one.sk < other.sk
  }

  async #readOn(part: Part, limit: number): Promise<void> {
    const { partition, last } = part
    const { descending } = this.#range
    // A range includes its ends. A key that is no id has no adjacent one, so its item is read again.
    const isAdjacent = last !== undefined && isId(last.sk)
    const from = isAdjacent ? adjacentId(last.sk, descending ? -1 : 1) : last?.sk
    const read = await this.#table.readRange({
      ...this.#range,
      ...(from !== undefined && { [descending ? 'high' : 'low']: from }),
      partition,
      limit: last && !isAdjacent ? limit + 1 : limit,
    })
    part.unread.push(...read.items.filter(({ sk }) => sk !== last?.sk))
    part.last = read.items.at(-1) ?? last
    part.exhausted = read.exhausted
  }
}

const unitBytes = 4096
/** Items of up to 680 bytes cost one read unit. */
const itemsOfFirstRead = 6

/**
 * Returns the number of items to read from a partition: a unit first. Shards are random, so a partition of which items
 * were returned holds about its share of the rest; twice the standard deviation less is hardly ever too much.
 */
function limitOf({ last }: Part, share: number): number {
  if (!last) return itemsOfFirstRead
  const bytes = Buffer.byteLength(JSON.stringify(last))
  const units = Math.floor(((share - 2 * Math.sqrt(share)) * bytes) / unitBytes)
  return Math.max(1, Math.floor((Math.max(1, units) * unitBytes) / bytes))
}

/**
 * Reads one range of several partitions. From each it reads at most about one unit more than it returns.
 */
export async function readMerged(
  table: Table,
  partitions: readonly string[],
  { limit, ...range }: MergedRange & { limit: number },
): Promise<RangeRead> {
  const [partition = ''] = partitions
  if (partitions.length === 1) return table.readRange({ ...range, partition, limit })
  const merge = new Merge(table, partitions, range)
  const items: Item[] = []
  while (items.length < limit && !merge.exhausted) {
    const left = limit - items.length
    await merge.fill((open, part) => Math.min(left, limitOf(part, left / open)))
    items.push(...merge.take(left))
  }
  return { items, exhausted: merge.exhausted }
}

/**
 * Yields all items of a range of several partitions in one order, some at a time.
 * @param atOnce the number of items to hold in memory, if it is more than one for each partition
 */
export async function* readAll(
  table: Table,
  partitions: readonly string[],
  { atOnce, ...range }: MergedRange & { atOnce: number },
): AsyncGenerator<Item[]> {
  const merge = new Merge(table, partitions, range)
  while (!merge.exhausted) {
    // Partitions that are almost empty are read together, so the reads are few.
    await merge.fill((open) => Math.ceil(atOnce / open), Math.floor(atOnce / partitions.length / 2))
    yield merge.take(Number.POSITIVE_INFINITY)
  }
}

/** Yields all items of a tenant for an entity whose keys are ids, or start with ids, oldest first. */
export async function* itemsOf(table: Table, tenant: string, entity: Entity): AsyncGenerator<Item> {
  const range = { low: smallestId, high: largestId, descending: false, atOnce: 500 }
  for await (const items of readAll(table, partitionsOf(tenant, entity), range)) yield* items
}
