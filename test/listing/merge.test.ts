import { marshall } from '@aws-sdk/util-dynamodb'
import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { itemsOf, rangeReader, readAll } from '#shared/platform/listing/merge.ts'
import { type Item, keyOf, partitionsOf } from '#shared/platform/table/keys.ts'
import type { Range, Table } from '#shared/platform/table/table.ts'
import { Random } from '#test/simulation/random.ts'
import { itemBytes } from '#test/support/capacity.ts'
import { idAt, seededBytes } from '#test/support/ids.ts'
import { memoryRuntime } from '#test/support/memory-runtime.ts'
import { runs } from '#test/support/runs.ts'

const bytesOf = (items: readonly Item[]) =>
  items.map((item) => itemBytes(marshall(item))).reduce((sum, bytes) => sum + bytes, 0)

/**
 * A table with the items of one entity, which records its reads and counts those that begin while none is in progress.
 * @param size returns the bytes of an item
 */
async function filled(ids: readonly string[], size = () => 0) {
  const { table, store } = memoryRuntime()
  for (const id of ids) {
    const key = keyOf('acme', 'order', id)
    const others = 'pk'.length + key.pk.length + 'sk'.length + key.sk.length + 'text'.length
    const text = 'x'.repeat(Math.max(0, size() - others))
    store.put({ item: { ...key, text }, condition: 'none' })
  }
  const reads: { range: Range; items: Item[] }[] = []
  const count = { rounds: 0, inProgress: 0 }
  const recording: Table = {
    ...table,
    async readRange(range) {
      if (count.inProgress === 0) count.rounds += 1
      count.inProgress += 1
      const read = await table.readRange(range)
      count.inProgress -= 1
      reads.push({ range, items: read.items })
      return read
    },
  }
  return { table: recording, reads, count }
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
      const read = rangeReader(table, partitions, { ...everything, descending })
      const pages: string[] = []
      for (let [exhausted, next] = [false, limit]; !exhausted; next += 3) {
        const page = await read(next)
        pages.push(...page.items.map(({ sk }) => sk))
        exhausted = page.exhausted
        expect(page.items.length).toBe(Math.min(next, expected.length + page.items.length - pages.length))
      }
      expect(pages).toEqual(expected)
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
      .map(({ items }) => Math.max(1, Math.ceil(bytesOf(items) / 4096)))
      .reduce((sum, units) => sum + units, 0)

  interface Page {
    size: number
    shards: number
    /** The sizes of items are drawn from this range. */
    bytes: readonly [number, number]
    seed: number
  }

  /** Reads the first page of a tenant whose items are spread at random. */
  async function pageOf({ size, shards, bytes: [least, most], seed }: Page) {
    const random = seededBytes(seed)
    const sizes = new Random(seed)
    const ids = Array.from({ length: 2 * size + 100 }, (_, n) => idAt(n, random, shards))
    const { table, reads, count } = await filled(ids, () => least + sizes.int(most - least + 1))
    // As read-page.ts does it: one item more than the page holds shows whether there is a next page.
    const partitions = partitionsOf('acme', 'order', shards)
    const { items } = await rangeReader(table, partitions, { ...everything, descending: true })(size + 1)
    const held = new Set(items.map(({ sk }) => sk))
    const ahead = reads.flatMap((read) => read.items).filter(({ sk }) => !held.has(sk))
    return {
      /** The units above those of one shard and one for each other one. */
      above: unitsOf(reads) - unitsOf([{ items }]) - (shards > 1 ? shards : 0),
      /** The bytes that were read of each shard and are not in the page. */
      aheads: [...Map.groupBy(ahead, ({ pk }) => pk).values()].map(bytesOf),
      rounds: count.rounds,
    }
  }

  /** Reads pages of other tenants. */
  const pagesOf = (page: Omit<Page, 'seed'>) =>
    Promise.all(Array.from({ length: 20 }, (_, n) => pageOf({ ...page, seed: n + 1 })))

  test('is at most a unit for each shard above that of one shard, also of each shard', async () => {
    const pages = fc.record({
      size: fc.integer({ min: 1, max: 100 }),
      shards: fc.integer({ min: 1, max: 64 }),
      bytes: fc.integer({ min: 200, max: 680 }).map((bytes) => [bytes, bytes] as const),
      seed: fc.nat(),
    })
    const { numRuns, seed } = runs(1000)
    const beyond = { sum: 0, ofShard: 0 }
    const property = fc.asyncProperty(pages, async (page) => {
      const { above, aheads } = await pageOf(page)
      expect(above).toBeLessThanOrEqual(1)
      if (above > 0) beyond.sum += 1
      if (Math.max(...aheads) > 4096) beyond.ofShard += 1
    })
    await fc.assert(property, { numRuns, seed })
    // Shards are random, so there are exceptions.
    expect(beyond.sum).toBeLessThanOrEqual(Math.ceil(numRuns / 500))
    expect(beyond.ofShard).toBeLessThanOrEqual(numRuns / 100)
  })

  // Reads of one round run at the same time.
  const pages = [2, 4, 8, 16, 64].flatMap((shards) => [
    { size: 10, shards, rounds: shards > 4 ? 1 : 2 },
    { size: 25, shards, rounds: shards > 8 ? 1.2 : shards > 4 ? 2 : 3.5 },
    { size: 100, shards, rounds: 6 },
  ])
  test.each(pages)(
    'of $size orders over $shards shards is at most $rounds rounds of reads',
    async ({ size, shards, rounds }) => {
      const read = await pagesOf({ size, shards, bytes: [370, 370] })
      expect(read.reduce((sum, page) => sum + page.rounds, 0) / read.length).toBeLessThanOrEqual(rounds)
    },
  )

  test.each([
    { bytes: [333, 407], size: 25, more: 1 },
    { bytes: [333, 407], size: 100, more: 2 },
    { bytes: [200, 680], size: 25, more: 2 },
    { bytes: [200, 680], size: 100, more: 6 },
  ] as const)(
    'of $size items of $bytes.0 to $bytes.1 bytes is at most $more more',
    async ({ bytes, size, more }) => {
      for (const shards of [2, 4, 8, 16, 64])
        for (const { above } of await pagesOf({ size, shards, bytes }))
          expect(above).toBeLessThanOrEqual(more)
    },
  )

  test.each([2, 4, 16, 64])(
    'of 100 items over %i shards has at most a unit of each that it does not hold',
    async (shards) => {
      for (const { aheads } of await pagesOf({ size: 100, shards, bytes: [650, 650] }))
        expect(Math.max(...aheads)).toBeLessThanOrEqual(4096)
    },
  )

  test('of one shard is that of one read', async () => {
    const ids = Array.from({ length: 50 }, (_, n) => idAt(n))
    const { table, reads } = await filled(ids)
    const range = { ...everything, descending: true }
    await rangeReader(table, partitionsOf('acme', 'order', 1), range)(26)
    expect(reads.map((read) => read.range)).toEqual([{ ...range, limit: 26, partition: 'order#acme#0' }])
  })

  test('reads the old items of one shard together while the other shards are empty', async () => {
    const ids = Array.from({ length: 200 }, (_, n) => idAt(n, seededBytes(n)))
    const { table, reads } = await filled(ids, () => 650)
    await rangeReader(table, partitionsOf('acme', 'order', 16), { ...everything, descending: true })(101)
    expect(reads.filter(({ items }) => items.length > 0).length).toBeLessThanOrEqual(8)
  })
})
