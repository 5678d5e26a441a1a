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

  /** All items that were read and not taken yet, in their order. */
  get unread(): Item[] {
    const all = this.#parts.flatMap(({ unread }) => unread)
    return all.sort((one, other) => (this.isBefore(one, other) ? -1 : 1))
  }

  /**
   * Reads from partitions that may have more.
   * @param wanted returns the number of items to read from one of these; none if what was read of it is enough for now
   * @returns the items that were read, in no order
   */
  async fill(wanted: (part: Part, open: readonly Part[]) => number): Promise<Item[]> {
    const open = this.#parts.filter(({ exhausted }) => !exhausted)
    const limits = open.map((part) => [part, wanted(part, open)] as const)
    const read = await Promise.all(
      limits.map(([part, limit]) => (limit > 0 ? this.#readOn(part, limit) : [])),
    )
    return read.flat()
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
      if (item && (!first || this.isBefore(item, first.unread[0] as Item))) first = part
    }
    return first
  }

  isBefore(one: Item, other: Item): boolean {
    return this.#range.descending ? one.sk > other.sk : one.sk < other.sk
  }

  async #readOn(part: Part, limit: number): Promise<Item[]> {
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
    const more = read.items.filter(({ sk }) => sk !== last?.sk)
    part.unread.push(...more)
    part.last = read.items.at(-1) ?? last
    part.exhausted = read.exhausted
    return more
  }
}

/** The sizes of all items that were read. */
class Sizes {
  #count = 0
  #sum = 0
  #squares = 0

  add(items: readonly Item[]): void {
    for (const bytes of items.map(bytesOf)) {
      this.#count += 1
      this.#sum += bytes
      this.#squares += bytes ** 2
    }
  }

  /** A size that few reads of these items exceed on average: a standard deviation above their mean. Undefined before the first. */
  get usual(): number | undefined {
    if (this.#count === 0) return undefined
    const mean = this.#sum / this.#count
    return mean + Math.sqrt(Math.max(0, this.#squares / this.#count - mean ** 2))
  }
}

const unitBytes = 4096
/** Items of up to 682 bytes cost one read unit. */
const itemsOfFirstRead = 6

/** Returns whether first reads are likely to be enough for a page: hardly more than one partition has more of it. */
function isSmall(limit: number, partitions: number): boolean {
  return limit <= Math.max(2 * itemsOfFirstRead, 5 * partitions ** 0.8)
}

/** Returns the number of items to read, in whole units: those that the page surely needs, and one more. */
function wholeUnits(needed: number, bytes: number): number {
  const units = 1 + Math.max(0, Math.floor((needed * bytes) / unitBytes))
  return Math.max(1, Math.floor((units * unitBytes) / bytes))
}

/** Returns the bytes of attributes for which DynamoDB charges. */
function bytesOf(attributes: object): number {
  return sum(Object.entries(attributes).map(([name, value]) => Buffer.byteLength(name) + bytesOfValue(value)))
}

function bytesOfValue(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (typeof value === 'number') return 1 + Math.ceil(String(value).length / 2)
  if (typeof value !== 'object' || value === null) return 1
  if (Array.isArray(value)) return 3 + value.length + sum(value.map(bytesOfValue))
  return 3 + Object.keys(value).length + bytesOf(value)
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)

/**
 * Reads on in a range: at least one item unless the range is exhausted.
 * @param enough the number of items with which it ends before `limit`, instead of another call for the rest
 */
type RangeReader = (limit: number, enough?: number) => Promise<RangeRead>

/**
 * Reads one range of several partitions, some items at a time. From each partition it reads at most a unit more than it returns
 * in all, if the items have similar sizes of at most 682 bytes (docs/scaling.md).
 */
export function rangeReader(table: Table, partitions: readonly string[], range: MergedRange): RangeReader {
  const merge = new Merge(table, partitions, range)
  const sizes = new Sizes()
  const fill = async (wanted: (part: Part, open: readonly Part[]) => number) =>
    sizes.add(await merge.fill(wanted))
  return async (limit, enough = limit) => {
    // The size of items says how many fit a unit, so a larger page begins with one partition.
    if (sizes.usual === undefined && partitions.length > 1 && !isSmall(limit, partitions.length))
      await fill((part, open) => (part === open[0] ? itemsOfFirstRead : 0))
    const items = merge.take(limit)
    while (items.length < enough && !merge.exhausted) {
      const left = limit - items.length
      const { unread } = merge
      const { usual: bytes } = sizes
      // The page hardly ever ends before this item, however many items before it are still unknown.
      const sure = unread[Math.floor(left - 4 * Math.sqrt(left))]
      await fill((part, open) => {
        if (open.length === 1) return left
        if (bytes === undefined) return itemsOfFirstRead
        // Shards are random: one in thirty has 1.9 standard deviations less than its share of the rest. A search, which reads on
        // anyway, reads a standard deviation more instead of calling again.
        const share = left / open.length
        const needed = share + (enough < limit ? 1 : -1.9) * Math.sqrt(share) - part.unread.length
        const end = part.unread.at(-1)
        const isUsedUp = end === undefined || (sure && merge.isBefore(end, sure))
        return needed > 0 || isUsedUp ? Math.min(left, wholeUnits(needed, bytes)) : 0
      })
      items.push(...merge.take(left))
    }
    return { items, exhausted: merge.exhausted }
  }
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
  const low = Math.floor(atOnce / partitions.length / 2)
  while (!merge.exhausted) {
    // Partitions that are almost empty are read together, so the reads are few.
    await merge.fill(({ unread }, open) => (unread.length <= low ? Math.ceil(atOnce / open.length) : 0))
    yield merge.take(Number.POSITIVE_INFINITY)
  }
}

/** Yields all items of a tenant for an entity whose keys are ids, or start with ids, oldest first. */
export async function* itemsOf(table: Table, tenant: string, entity: Entity): AsyncGenerator<Item> {
  const range = { low: smallestId, high: largestId, descending: false, atOnce: 500 }
  for await (const items of readAll(table, partitionsOf(tenant, entity), range)) yield* items
}
