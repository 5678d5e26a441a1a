import { describe, expect, test } from '@jest/globals'
import { largestId, newId, smallestId, startBudget } from '#shared/platform/base/clock.ts'
import { readMerged } from '#shared/platform/listing/merge.ts'
import { type Item, keyOf, partitionsOf } from '#shared/platform/table/keys.ts'
import type { Table } from '#shared/platform/table/table.ts'
import { movableClock } from '#test/faults/payment-saga.ts'
import { MemoryStore } from './memory-store.ts'
import { memoryTable } from './memory-table.ts'
import { Capacity, partitionUnits } from './partition-capacity.ts'
import { Random } from './random.ts'

/** A table whose partition keys have a part of the capacity of DynamoDB. */
function tableOf({ scale = 1, credit = 0 } = {}) {
  const clock = movableClock(0)
  const now = () => clock.now()
  const store = new MemoryStore({ now })
  const capacity = new Capacity({ store, now, scale, credit })
  const budget = startBudget(clock, Number.POSITIVE_INFINITY)
  const table = memoryTable(store, { clock, budget, criticality: 'critical' }, async (call) =>
    capacity.run(call),
  )
  return { table, capacity, clock, store }
}

const itemOf = (bytes: number, sk = 'a'): Item => ({ pk: 'p', sk, text: 'x'.repeat(bytes) })
const put = (item: Item) => ({ item, condition: 'none' as const })

describe('the units of a call', () => {
  const small = itemOf(500)
  const large = itemOf(5000)
  const remove = { remove: { pk: 'p', sk: 'a' }, condition: 'none' as const }
  const update = {
    update: { pk: 'p', sk: 'a' },
    set: { text: 'x'.repeat(2500) },
    condition: 'none' as const,
  }
  test.each<[string, Item[], (table: Table) => Promise<unknown>, Record<string, number>]>([
    ['a put of half a KB', [], (table) => table.put(put(small)), { 'write p': 1 }],
    ['a put of 5 KB', [], (table) => table.put(put(large)), { 'write p': 5 }],
    ['a put of half a KB over 5 KB', [large], (table) => table.put(put(small)), { 'write p': 5 }],
    ['a put in a transaction', [], (table) => table.transact([put(large)]), { 'write p': 10 }],
    ['a removal of 5 KB in a transaction', [large], (table) => table.transact([remove]), { 'write p': 10 }],
    ['an update that grows an item', [small], (table) => table.update(update), { 'write p': 3 }],
    [
      'a put whose condition fails',
      [large],
      (table) => table.put({ item: small, condition: { absent: true } }),
      { 'write p': 5 },
    ],
    [
      'an insertion of several',
      [],
      (table) => table.insertMany([small, itemOf(1500, 'b')]),
      { 'write p': 3 },
    ],
    ['a get of nothing', [], (table) => table.get(small), { 'read p': 1 }],
    ['a get of 5 KB', [large], (table) => table.get(large), { 'read p': 2 }],
    [
      'a get of several, each rounded up',
      [large, itemOf(10, 'b')],
      (table) => table.getMany([large, itemOf(10, 'b'), itemOf(10, 'c')]),
      { 'read p': 4 },
    ],
    [
      'a range, rounded up as a whole',
      [small, itemOf(500, 'b')],
      (table) => table.readRange({ partition: 'p', low: 'a', high: 'b', descending: false, limit: 5 }),
      { 'read p': 1 },
    ],
    ['a read of the index', [], (table) => table.findById('order', 'i'), { 'read i': 0.5 }],
  ])('are those of DynamoDB: %s', async (_, stored, call, units) => {
    const { table, capacity, store } = tableOf()
    for (const item of stored) store.put(put(item))
    await call(table)
    expect(Object.fromEntries(capacity.used)).toEqual(units)
  })
})

describe('a partition', () => {
  /** Returns how many transactions of one small item are admitted in ten seconds. */
  async function admitted(items: number, credit = 0): Promise<number> {
    const { capacity, store, clock } = tableOf({ scale: 0.02, credit })
    let count = 0
    for (let n = 0; n < items; n += 1) {
      clock.advance((10 / items) * 1000)
      const changes = [put(itemOf(10, String(n)))]
      const effect = () => store.transact(changes, String(n))
      try {
        capacity.run({ name: 'transact', changes, input: changes, milliseconds: 1000, effect })
        count += 1
      } catch {}
    }
    return count
  }
  const perSecond = (partitionUnits.write / 2) * 0.02

  test('admits transactions at half of its write units, after those of its first second', async () => {
    expect(await admitted(4000)).toBeCloseTo(perSecond * 11, -1)
  })

  test('keeps unused units for five minutes', async () => {
    expect(await admitted(8000, 300)).toBeCloseTo(perSecond * 310, -1)
  })

  test('throttles neither other partitions nor reads', async () => {
    const { table } = tableOf({ scale: 0.001 })
    await expect(table.put(put(itemOf(5000)))).rejects.toMatchObject({ code: 'DEPENDENCY.unavailable' })
    expect(await table.get({ pk: 'p', sk: 'a' })).toBeUndefined()
    expect(await table.put(put({ pk: 'q', sk: 'a' }))).toBeUndefined()
  })

  test('cancels a transaction with a reason for the throttled item only', () => {
    const { capacity, store } = tableOf({ scale: 0.002 })
    const changes = [put({ pk: 'q', sk: 'a' }), put(itemOf(5000))]
    const effect = () => store.transact(changes, 't')
    const run = () => capacity.run({ name: 'transact', changes, input: changes, milliseconds: 1000, effect })
    expect(run).toThrow(
      expect.objectContaining({ CancellationReasons: [{ Code: 'None' }, { Code: 'ThrottlingError' }] }),
    )
    expect(store.all()).toEqual([])
  })
})

/** Returns how many orders of one tenant are admitted in a second, at one and a half times what its shards take. */
function ordersASecond(shards: number): number {
  const { capacity, store, clock } = tableOf({ scale: 0.02 })
  const random = new Random(1)
  const ids = { ...clock, randomBytes: (length: number) => random.bytes(length) }
  const seconds = 20
  const offered = 0.02 * 750 * shards * seconds
  let admitted = 0
  for (let n = 0; n < offered; n += 1) {
    clock.advance((seconds * 1000) / offered)
    const id = newId({ ...ids, now: () => Math.floor(clock.now()) }, shards)
    const record = { pk: `idempotency#${n}`, sk: 'record' }
    const changes = [put(record), put({ ...keyOf('acme', 'order', id), id })]
    const effect = () => store.transact(changes, String(n))
    try {
      capacity.run({ name: 'transact', changes, input: changes, milliseconds: 1000, effect })
      // The units of its first second are used up.
      if (n >= offered / 4) admitted += 1
    } catch {}
  }
  return admitted / (0.75 * seconds) / 0.02
}

/**
 * Returns the part of the pages of 25 orders that a tenant reads, of so many a second, while orders of 400 bytes are created
 * at three quarters of what its shards take. A throttled page is not tried again.
 */
async function partRead(shards: number, pages: number): Promise<number> {
  const scale = 0.02
  const seconds = 20
  const { table, capacity, store, clock } = tableOf({ scale })
  const random = new Random(1)
  const ids = { ...clock, randomBytes: (length: number) => random.bytes(length) }
  const create = () => {
    const id = newId({ ...ids, now: () => Math.floor(clock.now()) }, shards)
    return [put({ ...keyOf('acme', 'order', id), id, text: 'x'.repeat(270) })]
  }
  for (let n = 0; n < 40 * shards; n += 1) store.transact(create(), `before ${n}`)
  const range = { low: smallestId, high: largestId, descending: true, limit: 26 }
  const creates = scale * 375 * shards * seconds
  const offered = scale * pages * seconds
  let created = 0
  let read = 0
  for (let n = 0; n < offered; n += 1) {
    clock.advance((seconds * 1000) / offered)
    for (; created < (creates * (n + 1)) / offered; created += 1) {
      const changes = create()
      const effect = () => store.transact(changes, String(created))
      capacity.run({ name: 'transact', changes, input: changes, milliseconds: 1000, effect })
    }
    const page = await readMerged(table, partitionsOf('acme', 'order', shards), range).catch(() => undefined)
    if (page && n >= offered / 4) read += 1
  }
  return read / (0.75 * offered)
}

test.each([
  [1, 1000],
  [4, 1700],
  [16, 2800],
])('the lists of a tenant with %i shards are read meanwhile, up to %i a second', async (shards, pages) => {
  expect(await partRead(shards, pages)).toBeGreaterThan(0.98)
  expect(await partRead(shards, 1.2 * pages)).toBeLessThan(0.95)
})

test.each([1, 2, 4, 16])('the orders of a tenant grow with its shards, within 10 %%: %i', (shards) => {
  const ratio = ordersASecond(shards) / (500 * shards)
  expect(ratio).toBeGreaterThan(0.9)
  expect(ratio).toBeLessThan(1.1)
})
