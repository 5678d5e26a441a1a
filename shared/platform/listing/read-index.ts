import { type Item, keyOf, partitionsOf } from '../table/keys.ts'
import { type Bounds, largestId, smallestId } from './ids.ts'
import type { SortIndex } from './listing.ts'
import { readMerged } from './merged-read.ts'
import type { Stretch, TenantList } from './order.ts'
import { placeOf, placesOf, valueIn } from './places.ts'

export interface IndexRead {
  /** In the requested order. */
  found: { place: string; id: string }[]
  /** True when nothing of the range is left. */
  exhausted: boolean
}

type Source = Pick<TenantList, 'table' | 'tenant' | 'shards'>

/**
 * Reads a range of places of an index. The key of an entry may be the value alone, which sorts before all places of
 * this value. If the keys that were read start among these places, that entry is read separately.
 */
export async function readIndex(source: Source, index: SortIndex, stretch: Stretch): Promise<IndexRead> {
  const { low, high, descending, limit } = stretch
  if (low > high) return { found: [], exhausted: true }
  const from = low === placesOf(valueIn(low)).low ? valueIn(low) : low
  const [read, lowest] = await Promise.all([
    // One more: the entry at an end may have its place outside the range.
    readMerged(source.table, partitions(source, index), { low: from, high, descending, limit: limit + 1 }),
    entryUnderValue(from),
  ])
  const end = read.exhausted ? undefined : read.items.at(-1)?.sk
  const last = descending && end !== undefined ? await entryUnderValue(end) : undefined
  const places = new Map<string, string>()
  for (const entry of [...read.items, lowest, last]) {
    if (entry) places.set(placeOf(entry.sk, index.idOf(entry)), index.idOf(entry))
  }
  const found = Array.from(places, ([place, id]) => ({ place, id }))
    .filter(({ place }) => place >= low && place <= high)
    // Beyond the last key that was read, some places are still unknown.
    .filter(({ place }) => end === undefined || (descending ? place >= end : place <= end))
    .sort((a, b) => (a.place < b.place === descending ? 1 : -1))
  return { found: found.slice(0, limit), exhausted: end === undefined && found.length <= limit }

  /** Returns the entry whose key is the value alone, if the given key is a place of that value. */
  async function entryUnderValue(key: string): Promise<Item | undefined> {
    const value = valueIn(key)
    return value === key
      ? undefined
      : source.table.get(keyOf(source.tenant, index.entity, value, source.shards))
  }
}

/** Returns the smallest and largest id of the items with a value; undefined if one request cannot read them all. */
export async function idsOf(source: Source, index: SortIndex, value: string): Promise<Bounds | undefined> {
  const range = { low: value, high: placesOf(value).high, descending: false, limit: 100 }
  const { items, exhausted } = await readMerged(source.table, partitions(source, index), range)
  if (!exhausted) return undefined
  const ids = items.map((entry) => index.idOf(entry)).sort()
  return { low: ids[0] ?? largestId, high: ids.at(-1) ?? smallestId }
}

function partitions({ tenant, shards }: Source, { entity }: SortIndex): string[] {
  return partitionsOf(tenant, entity, shards)
}
