import { DeleteTableCommand, TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb'
import { afterEach, describe, expect, test } from '@jest/globals'
import { transactItem } from '#shared/platform/aws/dynamodb-expressions.ts'
import { dynamodbTable } from '#shared/platform/aws/dynamodb-table.ts'
import { largestId, newId, smallestId, startBudget } from '#shared/platform/base/clock.ts'
import { rangeReader } from '#shared/platform/listing/merge.ts'
import { type Item, keyOf, partitionsOf } from '#shared/platform/table/keys.ts'
import type { Change } from '#shared/platform/table/table.ts'
import { startDynamodbProxy } from '#test/faults/dynamodb-proxy.ts'
import { throttling } from '#test/faults/throttling.ts'
import { movableClock } from '#test/support/clocks.ts'
import { itemsOf as allItems, testClient } from '#test/support/dynamodb-client.ts'
import { runsAll } from '#test/support/runs.ts'
import { createTable } from '#test/support/tables.ts'
import { MemoryStore } from './memory-store.ts'
import { memoryTable } from './memory-table.ts'
import { Capacity, isThrottle, partitionUnits } from './partition-capacity.ts'
import { Random } from './random.ts'

type Place = 'in memory' | 'on DynamoDB Local'
const places: Place[] = runsAll ? ['in memory', 'on DynamoDB Local'] : ['in memory']

const stops: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

/** A table whose partition keys have a part of the capacity of DynamoDB. */
async function tableOf(place: Place, { scale = 1, credit = 0 } = {}) {
  const clock = movableClock(0)
  const now = () => clock.now()
  const budget = startBudget(clock, Number.POSITIVE_INFINITY)
  const access = { clock, budget, criticality: 'critical' } as const
  if (place === 'in memory') {
    const store = new MemoryStore({ now })
    const capacity = new Capacity({ store, now, scale, credit })
    let transactions = 0
    return {
      clock,
      table: memoryTable(store, access, async (call) => capacity.run(call)),
      /** Stores items without the limits. */
      store: async (items: Item[]) => items.forEach((item) => void store.put(put(item))),
      /** Makes one attempt. */
      async transact(changes: Change[]) {
        const effect = () => store.transact(changes, String(transactions++))
        capacity.run({ name: 'transact', changes, input: changes, milliseconds: 1000, effect })
      },
      used: capacity.used,
      all: async () => store.all(),
    }
  }
  const direct = testClient()
  const name = await createTable(direct)
  const { limit, capacity, stop } = throttling(name, { now, scale, credit })
  const proxy = await startDynamodbProxy(process.env.DYNAMODB_ENDPOINT ?? '', limit)
  const client = testClient(proxy.endpoint)
  stops.push(async () => {
    client.destroy()
    await proxy.stop()
    stop()
    await direct.send(new DeleteTableCommand({ TableName: name }))
    direct.destroy()
  })
  const unlimited = dynamodbTable(direct, name, access)
  return {
    clock,
    table: dynamodbTable(client, name, access),
    store: async (items: Item[]) => void (await unlimited.insertMany(items)),
    async transact(changes: Change[]) {
      const TransactItems = changes.map((change) => transactItem(name, change))
      await client.send(new TransactWriteItemsCommand({ TransactItems }))
    },
    used: capacity.used,
    all: () => allItems(name),
  }
}

type TestTable = Awaited<ReturnType<typeof tableOf>>

/** Returns whether the transaction is admitted. */
async function admits({ transact }: TestTable, changes: Change[]): Promise<boolean> {
  try {
    await transact(changes)
    return true
  } catch (thrown) {
    if (isThrottle(thrown)) return false
    throw thrown
  }
}

const itemOf = (bytes: number, sk = 'a'): Item => ({ pk: 'p', sk, text: 'x'.repeat(bytes) })
const put = (item: Item) => ({ item, condition: 'none' as const })

describe.each(places)('%s, the units of a call', (place) => {
  const small = itemOf(500)
  const large = itemOf(5000)
  const key = { pk: 'p', sk: 'a' }
  const remove = { remove: key, condition: 'none' as const }
  const update = {
    update: key,
    set: { text: 'x'.repeat(2500) },
    condition: 'none' as const,
  }
  test.each<[string, Item[], (table: TestTable['table']) => Promise<unknown>, Record<string, number>]>([
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
    ['a get of nothing', [], (table) => table.get(key), { 'read p': 1 }],
    ['a get of 5 KB', [large], (table) => table.get(key), { 'read p': 2 }],
    [
      'a get of several, each rounded up',
      [large, itemOf(10, 'b')],
      (table) => table.getMany([key, { ...key, sk: 'b' }, { ...key, sk: 'c' }]),
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
    const { table, store, used } = await tableOf(place)
    await store(stored)
    await call(table)
    expect(Object.fromEntries(used)).toEqual(units)
  })
})

describe.each(places)('%s, a partition', (place) => {
  /** Returns how many transactions of one small item are admitted in ten seconds. */
  async function admitted(items: number, credit = 0): Promise<number> {
    const table = await tableOf(place, { scale: 0.02, credit })
    let count = 0
    for (let n = 0; n < items; n += 1) {
      table.clock.advance((10 / items) * 1000)
      if (await admits(table, [put(itemOf(10, String(n)))])) count += 1
    }
    return count
  }
  const perSecond = (partitionUnits.write / 2) * 0.02

  test('admits transactions at half of its write units, after those of its first second', async () => {
    expect(await admitted(400)).toBeCloseTo(perSecond * 11, -1)
  })

  test('keeps unused units for five minutes', async () => {
    expect(await admitted(4000, 300)).toBeCloseTo(perSecond * 310, -1)
  })

  test('throttles neither other partitions nor reads', async () => {
    const { table } = await tableOf(place, { scale: 0.001 })
    await expect(table.put(put(itemOf(5000)))).rejects.toMatchObject({ code: 'DEPENDENCY.unavailable' })
    expect(await table.get({ pk: 'p', sk: 'a' })).toBeUndefined()
    expect(await table.put(put({ pk: 'q', sk: 'a' }))).toBeUndefined()
  })

  test('cancels a transaction with a reason for the throttled item only', async () => {
    const { transact, all } = await tableOf(place, { scale: 0.002 })
    await expect(transact([put({ pk: 'q', sk: 'a' }), put(itemOf(5000))])).rejects.toMatchObject({
      CancellationReasons: [{ Code: 'None' }, { Code: 'ThrottlingError' }],
    })
    expect(await all()).toEqual([])
  })
})

/** Returns how many orders of one tenant are admitted in a second, at one and a half times what its shards take. */
async function ordersASecond(place: Place, shards: number): Promise<number> {
  const table = await tableOf(place, { scale: 0.02 })
  const { clock } = table
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
    const isAdmitted = await admits(table, changes)
    // The units of its first second are used up.
    if (isAdmitted && n >= offered / 4) admitted += 1
  }
  return admitted / (0.75 * seconds) / 0.02
}

/**
 * Returns the part of the pages of 25 orders that a tenant reads, of so many a second, while orders of 400 bytes are created
 * at three quarters of what its shards take. A throttled page is not tried again.
 */
async function partRead(place: Place, shards: number, pages: number): Promise<number> {
  const scale = 0.02
  const seconds = 20
  const { table, store, transact, clock } = await tableOf(place, { scale })
  const random = new Random(1)
  const ids = { ...clock, randomBytes: (length: number) => random.bytes(length) }
  const create = () => {
    const id = newId({ ...ids, now: () => Math.floor(clock.now()) }, shards)
    return put({ ...keyOf('acme', 'order', id), id, text: 'x'.repeat(270) })
  }
  for (let n = 0; n < 2 * shards; n += 1)
    await store(Array.from({ length: 20 }, create).map(({ item }) => item))
  const partitions = partitionsOf('acme', 'order', shards)
  const range = { low: smallestId, high: largestId, descending: true }
  const creates = scale * 375 * shards * seconds
  const offered = scale * pages * seconds
  let created = 0
  let read = 0
  for (let n = 0; n < offered; n += 1) {
    clock.advance((seconds * 1000) / offered)
    for (; created < (creates * (n + 1)) / offered; created += 1) await transact([create()])
    const page = await rangeReader(table, partitions, range)(26).catch(() => undefined)
    if (page && n >= offered / 4) read += 1
  }
  return read / (0.75 * offered)
}

describe.each(places)('%s', (place) => {
  const lists = [
    [1, 1000],
    [4, 1700],
    // It takes seconds in memory, and on DynamoDB Local minutes.
    ...(runsAll && place === 'in memory' ? [[16, 2800] as const] : []),
  ] as const
  test.each(lists)(
    'the lists of a tenant with %i shards are read meanwhile, up to %i a second',
    async (shards, pages) => {
      expect(await partRead(place, shards, pages)).toBeGreaterThan(0.98)
      expect(await partRead(place, shards, 1.2 * pages)).toBeLessThan(0.95)
    },
  )

  test.each([1, 2, 4, 16])(
    'the orders of a tenant grow with its shards, within 10 %%: %i',
    async (shards) => {
      const ratio = (await ordersASecond(place, shards)) / (500 * shards)
      expect(ratio).toBeGreaterThan(0.9)
      expect(ratio).toBeLessThan(1.1)
    },
  )
})
