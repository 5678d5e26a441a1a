import { describe, expect, test } from '@jest/globals'
import { adjacentId, lastIdAt, newId, systemClock } from '#shared/platform/base/clock.ts'
import {
  type Entity,
  entities,
  type Item,
  isEntity,
  keyOf,
  maxShards,
  ownerOf,
  partitionsOf,
  pendingKeyOf,
  pendingPartitionsOf,
  shardsOf,
  tenantPattern,
} from '#shared/platform/table/keys.ts'
import {
  type Change,
  create,
  inParallel,
  inState,
  keyOfChange,
  pendingEntries,
  put,
  type Range,
  readCapacity,
  remove,
  replace,
  roundRobin,
  type Table,
  writeCapacity,
} from '#shared/platform/table/table.ts'
import { idAt } from '#test/support/ids.ts'
import { memoryRuntime } from '#test/support/memory-runtime.ts'

const key = { pk: 'order#acme#0', sk: '1' }

describe('a write', () => {
  test('creates an item that must be absent', () => {
    expect(create(key)).toEqual({ item: key, condition: { absent: true }, onFailure: 'INTERNAL.unexpected' })
    expect(create(key, 'CONFLICT.soft_deleted').onFailure).toBe('CONFLICT.soft_deleted')
  })

  test('overwrites an item', () => {
    expect(put(key)).toEqual({ item: key, condition: 'none', onFailure: 'INTERNAL.unexpected' })
  })

  test('replaces an item with certain values', () => {
    const condition = { matches: { version: 1 } }
    expect(replace(key, { version: 1 }, 'TRANSIENT.error')).toEqual({
      item: key,
      condition,
      onFailure: 'TRANSIENT.error',
    })
  })

  test('removes an item with certain values', () => {
    const condition = { matches: { version: 1 } }
    expect(remove(key, { version: 1 }, 'TRANSIENT.error')).toEqual({
      remove: key,
      condition,
      onFailure: 'TRANSIENT.error',
    })
  })

  test('needs an item in one of some states', () => {
    expect(inState(['a', 'b'], { version: 1 })).toEqual({
      matches: { version: 1 },
      oneOf: { state: ['a', 'b'] },
    })
    expect(inState(['a'])).toEqual({ matches: {}, oneOf: { state: ['a'] } })
  })
})

describe('a change', () => {
  const condition = { absent: true } as const
  const changes: [string, Change][] = [
    ['put', { item: { ...key, amount: 5 }, condition }],
    ['update', { update: key, set: {}, condition }],
    ['removal', { remove: key, condition }],
    ['check', { check: key, condition }],
  ]

  test.each(changes)('names its item (%s)', (_, change) => {
    expect(keyOfChange(change)).toEqual(key)
  })

  test.each(changes)('uses the capacity of its partition for writes (%s)', (_, change) => {
    expect(writeCapacity(change)).toBe(writeCapacity({ check: { ...key, sk: '2' }, condition }))
  })

  test('shares its capacity with no other partition, and with no read', () => {
    const capacities = [
      ...['a', 'b'].map((pk) => writeCapacity({ remove: { pk, sk: '1' }, condition })),
      ...['a', 'b'].map(readCapacity),
    ]
    expect(new Set(capacities).size).toBe(4)
  })
})

describe('a key', () => {
  test.each(['a', '7', 'Acme', 'acme-1_b.c', 'a'.repeat(64)])('may belong to the tenant %j', (tenant) => {
    expect(tenantPattern.test(tenant)).toBe(true)
  })

  test.each(['', '-a', '.a', '_a', 'a#b', 'a b', 'ä', 'a\n', 'a'.repeat(65)])(
    'cannot belong to a tenant %j',
    (tenant) => {
      expect(tenantPattern.test(tenant)).toBe(false)
    },
  )

  test.each([
    ['order', true],
    ['nothing', false],
    ['toString', false],
  ])('belongs to an entity of the table (%s: %s)', (name, known) => {
    expect(isEntity(name)).toBe(known)
  })

  test.each([
    ['large', { writes: 2, reads: 3 }],
    ['small', { writes: 1, reads: 1 }],
    ['constructor', { writes: 1, reads: 1 }],
  ])('of the tenant %s is in its shards', (tenant, shards) => {
    const of = { default: { writes: 1, reads: 1 }, tenants: { large: { writes: 2, reads: 3 } } }
    expect(shardsOf({ 'storage.shards': of }, tenant)).toEqual(shards)
  })

  test('is in the partition of its tenant and entity', () => {
    expect(keyOf('acme', 'order', '1')).toEqual(key)
    expect(partitionsOf('acme', 'order', 1)).toEqual(['order#acme#0'])
    expect(ownerOf('order#acme#0')).toEqual({ entity: 'order', tenant: 'acme' })
  })

  test('is always in the same of several partitions, and all are used', () => {
    const used = new Set(Array.from({ length: 200 }, (_, n) => keyOf('acme', 'customer', `c${n}`).pk))
    expect(used).toEqual(new Set(partitionsOf('acme', 'customer')))
    expect(used.size).toBe(16)
    expect(keyOf('acme', 'customer', 'c1')).toEqual({ pk: 'customer#acme#10', sk: 'c1' })
  })

  test('is in the same of several partitions as all others of the name before its first #', () => {
    const used = new Set(
      Array.from({ length: 50 }, (_, n) => keyOf('acme', 'waiting_delivery', `s1#${n}`).pk),
    )
    expect([...used]).toEqual([keyOf('acme', 'waiting_delivery', 's1').pk])
  })

  test.each([0, 1, 63])('is in the partition %i if its id says so', (shard) => {
    const id = `01234567-89ab-87ff-bfff-ffffffffff${shard.toString(16).padStart(2, '0')}`
    expect(keyOf('acme', 'order', id)).toEqual({ pk: `order#acme#${shard}`, sk: id })
    expect(keyOf('acme', 'legal_hold', id).pk).toBe('legal_hold#acme#0')
  })

  test('of a new id is in one of the shards, and all are used', () => {
    const ids = Array.from({ length: 256 }, (_, byte) =>
      newId({ ...systemClock, randomBytes: (length) => new Uint8Array(length).fill(byte) }, 5),
    )
    const used = new Set(ids.map((id) => keyOf('acme', 'order', id).pk))
    expect([...used].toSorted()).toEqual(partitionsOf('acme', 'order', 5))
  })

  test('of an entity can be in all partitions of which the number is not known', () => {
    const counts = Object.keys(entities).map((entity) => partitionsOf('acme', entity as Entity).length)
    expect(new Set(counts)).toEqual(new Set([1, 16, maxShards]))
  })

  test.each([
    ['order', 16],
    ['audit', maxShards],
  ] as const)('of %s can be in %i partitions if a list reads 16 shards', (entity, count) => {
    expect(partitionsOf('acme', entity, 16)).toHaveLength(count)
  })

  test('of another form has no owner', () => {
    expect(ownerOf('')).toEqual({ entity: '', tenant: '' })
  })
})

describe('the entries of pending work', () => {
  const partitions = pendingPartitionsOf('pending-saga')
  const runtime = memoryRuntime()
  const at = runtime.clock.now()
  const entryOf = (id: string): Item => ({ ...pendingKeyOf('pending-saga', id) })
  const entryAt = (milliseconds: number) => entryOf(idAt(at + milliseconds))
  const entriesOf = (table: Table) => pendingEntries(table, 'pending-saga', at + 2000)

  test('have a fixed number of partitions, which is a part of their keys', () => {
    expect(partitions).toEqual(Array.from({ length: 32 }, (_, shard) => `pending-saga#${shard}`))
    expect(pendingKeyOf('open-refund', 'r1')).toEqual({ pk: 'open-refund#6', sk: 'r1' })
  })

  test('use all partitions', () => {
    const used = new Set(Array.from({ length: 500 }, (_, n) => pendingKeyOf('pending-saga', `e${n}`).pk))
    expect([...used].toSorted()).toEqual(partitions.toSorted())
  })

  test('are those up to a time in all partitions, oldest first', async () => {
    const entries = Array.from({ length: 100 }, (_, n) => entryAt(n))
    const last = entryOf(lastIdAt(at + 2000))
    for (const item of [...entries, last, entryAt(2001)]) await runtime.table.put({ item, condition: 'none' })
    expect(await entriesOf(runtime.table)).toEqual([...entries, last])
  })

  /** A table whose first partition returns these pages. */
  function pagesOf(...pages: Item[][]) {
    const ranges: Range[] = []
    const table = {
      ...runtime.table,
      async readRange(range: Range) {
        if (range.partition !== partitions[0]) return { items: [], exhausted: true }
        ranges.push(range)
        return { items: pages[ranges.length - 1] ?? [], exhausted: ranges.length === pages.length }
      },
    }
    return { table, ranges }
  }

  test('are read page by page until none is left', async () => {
    const first = entryAt(1)
    const { table, ranges } = pagesOf([first], [entryAt(2)], [entryAt(3)])
    expect(await entriesOf(table)).toHaveLength(3)
    expect(ranges.map(({ limit, descending }) => [limit, descending])).toEqual([
      [1000, false],
      [999, false],
      [998, false],
    ])
    expect(ranges[1]?.low).toBe(adjacentId(first.sk, 1))
  })

  test('are at most 1,000 of a partition', async () => {
    const page = (first: number) => Array.from({ length: 500 }, (_, n) => entryAt(first + n))
    const { table, ranges } = pagesOf(page(0), page(500), page(1000))
    expect(await entriesOf(table)).toHaveLength(1000)
    expect(ranges).toHaveLength(2)
  })
})

describe('parallel work', () => {
  test('begins in order, eight at a time, and goes on when one ends', async () => {
    const ends = Array.from({ length: 12 }, () => Promise.withResolvers<void>())
    const begun: number[] = []
    const all = inParallel([...ends.keys()], (one) => {
      begun.push(one)
      return ends[one]?.promise ?? Promise.resolve()
    })
    expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
    ends[3]?.resolve()
    await new Promise(setImmediate)
    expect(begun.slice(8)).toEqual([8])
    for (const { resolve } of ends) resolve()
    await all
    expect(begun).toHaveLength(12)
  })
})

describe('a turn of several queues', () => {
  test('takes one of each before a second of any', () => {
    expect(roundRobin([['a1', 'a2', 'a3'], ['b1'], [], ['c1', 'c2']])).toEqual([
      'a1',
      'b1',
      'c1',
      'a2',
      'c2',
      'a3',
    ])
  })

  test('takes at most a number', () => {
    expect(roundRobin([['a1', 'a2'], ['b1', 'b2'], ['c1']], 4)).toEqual(['a1', 'b1', 'c1', 'a2'])
    expect(roundRobin([['a1']], 0)).toEqual([])
  })
})
