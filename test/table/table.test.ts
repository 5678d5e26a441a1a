import { describe, expect, test } from '@jest/globals'
import { newId, systemClock } from '#shared/platform/base/clock.ts'
import {
  type Entity,
  entities,
  isEntity,
  keyOf,
  maxShards,
  ownerOf,
  partitionsOf,
  shardsOf,
  tenantPattern,
} from '#shared/platform/table/keys.ts'
import {
  type Change,
  create,
  inParallel,
  inState,
  keyOfChange,
  put,
  readCapacity,
  remove,
  replace,
  roundRobin,
  writeCapacity,
} from '#shared/platform/table/table.ts'

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
    expect(ownerOf('order#acme#0')).toEqual({ kind: 'order', tenant: 'acme' })
  })

  test('is always in the same of several partitions, and all are used', () => {
    const used = new Set(Array.from({ length: 1000 }, (_, n) => keyOf('acme', 'customer', `c${n}`).pk))
    expect(used).toEqual(new Set(partitionsOf('acme', 'customer')))
    expect(used.size).toBe(maxShards)
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
    expect(new Set(counts)).toEqual(new Set([1, maxShards]))
  })

  test.each([
    ['order', 16],
    ['audit', maxShards],
  ] as const)('of %s can be in %i partitions if a list reads 16 shards', (entity, count) => {
    expect(partitionsOf('acme', entity, 16)).toHaveLength(count)
  })

  test('of another form has no owner', () => {
    expect(ownerOf('')).toEqual({ kind: '', tenant: '' })
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
