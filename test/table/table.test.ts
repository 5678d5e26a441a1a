import { describe, expect, test } from '@jest/globals'
import { lastIdAt } from '#shared/platform/base/clock.ts'
import { entities, keyOf, ownerOf, partitionsOf } from '#shared/platform/table/keys.ts'
import {
  create,
  inState,
  pendingEntries,
  put,
  remove,
  replace,
  roundRobin,
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

describe('a key', () => {
  test('is in the partition of its tenant and entity', () => {
    expect(keyOf('acme', 'order', '1')).toEqual(key)
    expect(partitionsOf('acme', 'order')).toEqual(['order#acme#0'])
    expect(ownerOf('order#acme#0')).toEqual({ entity: 'order', tenant: 'acme' })
  })

  test('is always in the same of several partitions, and all are used', () => {
    const used = new Set(Array.from({ length: 200 }, (_, n) => keyOf('acme', 'customer', `c${n}`).pk))
    expect([...used].toSorted()).toEqual(partitionsOf('acme', 'customer'))
    expect(used.size).toBe(8)
    expect(keyOf('acme', 'customer', 'c1')).toEqual({ pk: 'customer#acme#2', sk: 'c1' })
  })

  test('can be in a given number of partitions', () => {
    expect(partitionsOf('acme', 'order', 2)).toEqual(['order#acme#0', 'order#acme#1'])
    expect(keyOf('acme', 'order', 'x', 2).pk).toMatch(/^order#acme#[01]$/)
  })

  test('of most entities is in one partition', () => {
    const several = Object.entries(entities).filter(([, { shards }]) => shards !== 1)
    expect(several.map(([entity]) => entity)).toEqual(['customer'])
  })

  test('of another form has no owner', () => {
    expect(ownerOf('')).toEqual({ entity: '', tenant: '' })
  })
})

describe('the entries of pending work', () => {
  const partition = 'pending-saga'
  const runtime = memoryRuntime()
  const at = runtime.clock.now()
  const entryAt = (milliseconds: number) => ({
    pk: partition,
    sk: idAt(at + milliseconds),
  })

  test('are those up to a time, oldest first', async () => {
    const entries = [entryAt(0), entryAt(1), { pk: partition, sk: lastIdAt(at + 2) }, entryAt(3)]
    for (const item of entries) await runtime.table.put({ item, condition: 'none' })
    expect(await pendingEntries(runtime.table, partition, at + 2)).toEqual(entries.slice(0, 3))
  })

  test('are read in pages of 1000 until none is left', async () => {
    const ranges: { low: string; limit: number; descending: boolean }[] = []
    const pages = [[entryAt(1)], [], [entryAt(2)]]
    const table = {
      ...runtime.table,
      async readRange(range: (typeof ranges)[number]) {
        ranges.push(range)
        const items = pages[ranges.length - 1] ?? []
        return { items: items.length > 0 ? items : [entryAt(1)], exhausted: ranges.length === 3 }
      },
    }
    expect(await pendingEntries(table, partition, at)).toHaveLength(3)
    expect(ranges.map(({ limit, descending }) => [limit, descending])).toEqual(Array(3).fill([1000, false]))
    expect(ranges[1]?.low.slice(0, 30)).toBe(pages[0]?.[0]?.sk.slice(0, 30))
    expect((ranges[1]?.low ?? '') > (pages[0]?.[0]?.sk ?? '')).toBe(true)
  })

  test('are at most 20,000', async () => {
    let reads = 0
    const table = {
      ...runtime.table,
      async readRange() {
        reads += 1
        return { items: Array.from({ length: 1000 }, () => entryAt(reads)), exhausted: false }
      },
    }
    expect(await pendingEntries(table, partition, at)).toHaveLength(20_000)
    expect(reads).toBe(20)
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
