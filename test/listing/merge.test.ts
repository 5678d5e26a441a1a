import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { itemsOf, readAll, readMerged } from '#shared/platform/listing/merge.ts'
import { type Item, keyOf, partitionsOf } from '#shared/platform/table/keys.ts'
import type { Range, Table } from '#shared/platform/table/table.ts'
import { idAt, seededBytes } from '#test/support/ids.ts'
import { memoryRuntime } from '#test/support/memory-runtime.ts'
import { runs } from '#test/support/runs.ts'

/** A table with the items of one entity, which records its reads. */
async function filled(ids: readonly string[], bytes = 0) {
  const { table } = memoryRuntime()
  const items = ids.map((id) => ({ ...keyOf('acme', 'order', id), text: 'x'.repeat(bytes) }))
  for (const item of items) await table.put({ item, condition: 'none' })
  const reads: { range: Range; items: Item[] }[] = []
  const recording: Table = {
    ...table,
    async readRange(range) {
      const read = await table.readRange(range)
      reads.push({ range, items: read.items })
      return read
    },
  }
  return { table: recording, reads }
}

const everything = { low: '0', high: 'g' }

describe('several partitions', () => {
  const cases = fc.record({
    ids: fc.array(
      fc
        .tuple(fc.nat({ max: 20 }), fc.integer({ min: 1, max: 4 }), fc.integer())
        .map(([at, shards, seed]) => idAt(at, seededBytes(seed), shards)),
      { maxLength: 60 },
    ),
    descending: fc.boolean(),
    limit: fc.integer({ min: 1, max: 70 }),
  })

  test('are read as one, in their common order', async () => {
    const property = fc.asyncProperty(cases, async ({ ids, descending, limit }) => {
      const { table } = await filled(ids)
      const sorted = [...new Set(ids)].sort()
      const expected = descending ? sorted.toReversed() : sorted
      const partitions = partitionsOf('acme', 'order', 4)
      const page = await readMerged(table, partitions, { ...everything, descending, limit })
      expect(page.items.map(({ sk }) => sk)).toEqual(expected.slice(0, limit))
      if (page.exhausted) expect(page.items).toHaveLength(expected.length)
      const all: string[] = []
      for await (const items of readAll(table, partitions, { ...everything, descending, atOnce: limit }))
        all.push(...items.map(({ sk }) => sk))
      expect(all).toEqual(expected)
    })
    await fc.assert(property, runs(300))
  })

  test('whose keys only start with ids are read as one', async () => {
    const { table } = memoryRuntime()
    const keys = Array.from({ length: 90 }, (_, n) => ({
      pk: keyOf('acme', 'ledger', idAt(0, seededBytes(n), 3)).pk,
      sk: `${idAt(n, seededBytes(n), 3)}#payout`,
    }))
    for (const item of keys) await table.put({ item, condition: 'none' })
    const partitions = partitionsOf('acme', 'ledger', 3)
    const found: string[] = []
    for await (const items of readAll(table, partitions, { ...everything, descending: true, atOnce: 9 }))
      found.push(...items.map(({ sk }) => sk))
    expect(found).toEqual(keys.map(({ sk }) => sk).toReversed())
  })

  test('are all read where the number of shards is not known', async () => {
    const ids = Array.from({ length: 100 }, (_, n) => idAt(n, seededBytes(n), 64))
    const { table } = await filled(ids)
    const found: string[] = []
    for await (const { sk } of itemsOf(table, 'acme', 'order')) found.push(sk)
    expect(found).toEqual(ids)
  })
})

describe('the cost of a page', () => {
  /** Strongly consistent reads take one unit for every 4 KB, and at least one. */
  const unitsOf = (reads: readonly { items: Item[] }[]) =>
    reads
      .map(({ items }) => Math.max(1, Math.ceil(Buffer.byteLength(JSON.stringify(items)) / 4096)))
      .reduce((sum, units) => sum + units, 0)

  /** Reads pages of tenants whose items are spread at random. */
  async function* pages(shards: number, limit: number, bytes = 530) {
    for (let seed = 1; seed <= 20; seed += 1) {
      const random = seededBytes(seed)
      const ids = Array.from({ length: 300 }, (_, n) => idAt(n, random, shards))
      const { table, reads } = await filled(ids, bytes)
      const range = { ...everything, descending: true, limit }
      const { items } = await readMerged(table, partitionsOf('acme', 'order', shards), range)
      yield { items, reads }
    }
  }

  test.each([2, 4, 16, 64])(
    'of 25 items over %i shards is at most one unit for each above that of one shard',
    async (shards) => {
      for await (const { items, reads } of pages(shards, 26))
        expect(unitsOf(reads)).toBeLessThanOrEqual(unitsOf([{ items }]) + shards)
    },
  )

  const smallItems = [2, 4, 8, 16, 32, 64].flatMap((shards) => [
    { size: 25, shards, bytes: 110, more: 1 },
    { size: 25, shards, bytes: 230, more: 1 },
    { size: 100, shards, bytes: 110, more: 7 },
    { size: 100, shards, bytes: 230, more: 4 },
  ])
  test.each(smallItems)(
    'of $size small items over $shards shards is at most $more more, with $bytes bytes in each',
    async ({ size, shards, bytes, more }) => {
      for await (const { items, reads } of pages(shards, size + 1, bytes))
        expect(unitsOf(reads)).toBeLessThanOrEqual(unitsOf([{ items }]) + shards + more)
    },
  )

  test.each([2, 4, 16, 64])(
    'of 100 items over %i shards has at most a unit of each that it does not hold',
    async (shards) => {
      for await (const { items, reads } of pages(shards, 101)) {
        const returned = new Set(items.map(({ sk }) => sk))
        const ahead = reads.flatMap((read) => read.items).filter(({ sk }) => !returned.has(sk))
        for (const [, unread] of Map.groupBy(ahead, ({ pk }) => pk))
          expect(Buffer.byteLength(JSON.stringify(unread))).toBeLessThanOrEqual(4096)
      }
    },
  )

  test('of one shard is that of one read', async () => {
    const ids = Array.from({ length: 50 }, (_, n) => idAt(n))
    const { table, reads } = await filled(ids)
    const range = { ...everything, descending: true, limit: 26 }
    await readMerged(table, partitionsOf('acme', 'order', 1), range)
    expect(reads.map((read) => read.range)).toEqual([{ ...range, partition: 'order#acme#0' }])
  })

  test('reads the old items of one shard together while the other shards are empty', async () => {
    const ids = Array.from({ length: 200 }, (_, n) => idAt(n, seededBytes(n)))
    const { table, reads } = await filled(ids, 530)
    await readMerged(table, partitionsOf('acme', 'order', 16), {
      ...everything,
      descending: true,
      limit: 101,
    })
    expect(reads.filter(({ items }) => items.length > 0).length).toBeLessThanOrEqual(8)
  })
})
