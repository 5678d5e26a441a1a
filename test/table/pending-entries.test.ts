import { beforeEach, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { fail } from '#shared/platform/base/failure.ts'
import {
  entryAt,
  type Item,
  idOfEntry,
  pendingKeyOf,
  pendingPartitionsOf,
} from '#shared/platform/table/keys.ts'
import {
  isRefusedLongerThanADay,
  laterEntry,
  longPauses,
  pendingEntries,
  readDue,
  retryPauses,
} from '#shared/platform/table/pending-entries.ts'
import { idAt } from '#test/support/ids.ts'
import { type MemoryRuntime, memoryRuntime } from '#test/support/memory-runtime.ts'
import { runs } from '#test/support/runs.ts'
import { newTable, openTable } from '#test/support/tables.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

let runtime: MemoryRuntime
let now: number
beforeEach(() => {
  runtime = memoryRuntime()
  now = runtime.clock.now()
})

async function store(item: Item): Promise<Item> {
  await runtime.table.put({ item, condition: 'none' })
  return item
}

/** Stores the entry of a saga that started and is due at times relative to now. */
const entry = (tenant: string, { since = -hour, due = 0 } = {}, id = idAt(now + since)) =>
  store({ ...pendingKeyOf('pending-saga', entryAt(now + due, id)), tenant })
const read = (countsLater = true) => readDue(runtime.table, 'pending-saga', { now, countsLater })

describe('the key of an entry', () => {
  test('has one of 32 partitions, and keeps it when the entry moves', () => {
    const partitions = Array.from({ length: 32 }, (_, number) => `unsettled-refund#${number}`)
    expect(pendingPartitionsOf('unsettled-refund')).toEqual(partitions)
    expect(pendingKeyOf('unsettled-refund', 'r1')).toEqual({ pk: 'unsettled-refund#6', sk: 'r1' })
    expect(pendingKeyOf('unsettled-refund', entryAt(0, 'r1'))).toEqual({
      pk: 'unsettled-refund#6',
      sk: '1970-01-01T00:00:00.000Z#r1',
    })
  })

  test('spreads entries over all partitions', () => {
    const used = new Set(Array.from({ length: 500 }, (_, n) => pendingKeyOf('pending-saga', `e${n}`).pk))
    expect([...used].toSorted()).toEqual(pendingPartitionsOf('pending-saga').toSorted())
  })

  test.each([
    ['a minute at least', 0, retryPauses, minute],
    ['a quarter of its age, if the work could not be done', 8 * minute, retryPauses, 2 * minute],
    ['an hour at most, then', day, retryPauses, hour],
    ['its age, if the work takes long', 7 * minute, longPauses, 7 * minute],
    ['23 hours at most, then', 30 * day, longPauses, 23 * hour],
  ])('is due after %s', (_, age, pauses, pause) => {
    const id = idAt(now - age)
    const later = laterEntry(entryAt(now, id), now, pauses)
    expect(later).toBe(entryAt(now + pause, id))
    expect(idOfEntry(later)).toBe(id)
  })
})

test.each([
  [
    'a refusal by a decision of the tenant',
    fail('DEPENDENCY.unavailable', { refusedByTenant: true }),
    day,
    true,
  ],
  [
    'such a refusal of younger work',
    fail('DEPENDENCY.unavailable', { refusedByTenant: true }),
    day - 1,
    false,
  ],
  ['a missing key', fail('DEPENDENCY.unavailable', { causedByCaller: true }), day, false],
  ['an outage', fail('DEPENDENCY.unavailable'), day, false],
  ['a mistake of the code', new Error('broken'), day, false],
])('%s says whether work is refused for a day', (_, thrown, age, expected) => {
  expect(isRefusedLongerThanADay(thrown, idAt(now - age), now)).toBe(expected)
})

describe('a read of all entries', () => {
  test('returns those of all partitions in their order, whether they are due or not', async () => {
    const stored: Item[] = []
    for (let n = 0; n < 100; n += 1)
      stored.push(await entry('acme', { due: (n % 10) * minute }, idAt(now + n)))
    const expected = stored.toSorted((one, other) => (one.sk < other.sk ? -1 : 1))
    expect(await pendingEntries(runtime.table, 'pending-saga')).toEqual(expected)
  })

  test('ends at the largest key that is asked for', async () => {
    const first = await store({ ...pendingKeyOf('pending-operation', idAt(now)) })
    await store({ ...pendingKeyOf('pending-operation', idAt(now + 1)) })
    expect(await pendingEntries(runtime.table, 'pending-operation', first.sk)).toEqual([first])
  })

  test('goes on after each page', async () => {
    const [partition] = pendingPartitionsOf('pending-saga')
    const pages = [['a', 'b'], ['c'], []]
    const lows: string[] = []
    const table = {
      ...runtime.table,
      async readRange(range: { partition: string; low: string }) {
        if (range.partition !== partition) return { items: [], exhausted: true }
        lows.push(range.low)
        const page = pages[lows.length - 1] ?? []
        return { items: page.map((sk) => ({ pk: partition, sk })), exhausted: page.length === 0 }
      },
    }
    expect((await pendingEntries(table, 'pending-saga')).map(({ sk }) => sk)).toEqual(['a', 'b', 'c'])
    expect(lows).toEqual(['0', 'b#', 'c#'])
  })
})

describe('a read of what is due', () => {
  test('returns the entries that are due, longest due first, and no other', async () => {
    const late = await entry('acme', { due: -hour })
    const due = await entry('acme', { due: 0 })
    await entry('acme', { due: 1 })
    expect((await read()).due).toEqual([late, due])
  })

  test('counts what waits as well, but not the work of the last minute', async () => {
    await entry('acme', { since: -2 * hour, due: -1 })
    await entry('acme', { since: -3 * hour, due: hour })
    await entry('other', { since: -minute, due: hour })
    await entry('young', { since: 1 - minute, due: 1 })
    expect(await read()).toMatchObject({
      counts: new Map([
        ['acme', 2],
        ['other', 1],
      ]),
      oldest: now - 3 * hour,
    })
  })

  test('reads nothing that waits unless it is asked to', async () => {
    await entry('acme', { due: 1 })
    expect(await read(false)).toEqual({ due: [], counts: new Map() })
  })

  test('reaches a due entry behind 6,000 of one partition that wait', async () => {
    const id = idAt(now - hour)
    const { pk } = pendingKeyOf('pending-saga', id)
    for (let n = 0; n < 6000; n += 1)
      await store({ pk, sk: entryAt(now + 1 + n, idAt(now - day)), tenant: 'waits' })
    const due = await entry('acme', {}, id)
    expect((await read()).due).toEqual([due])
  })

  test('reaches a tenant behind 4,000 due entries of another in one partition', async () => {
    const id = idAt(now - hour)
    const { pk } = pendingKeyOf('pending-saga', id)
    const busy: Item[] = []
    for (let n = 0; n < 4000; n += 1)
      busy.push(await store({ pk, sk: entryAt(now - day + n, idAt(now - day)), tenant: 'busy' }))
    const due = await entry('acme', {}, id)
    const { due: kept, counts } = await read()
    expect(kept.filter(({ tenant }) => tenant === 'acme')).toEqual([due])
    expect(kept[0]).toEqual(busy[0])
    expect(kept.length).toBeLessThan(busy.length)
    expect(counts.get('busy')).toBe(4000)
  })
})

test('a table returns what is due page by page, and moves an entry in one transaction', async () => {
  const table = openTable(await newTable())
  const id = idAt(now - hour)
  const { pk } = pendingKeyOf('pending-saga', id)
  const others = Array.from({ length: 25 }, (_, n) => ({
    pk,
    sk: entryAt(now + n, idAt(now)),
    tenant: 'other',
  }))
  await table.insertMany(others)
  const before = pendingKeyOf('pending-saga', entryAt(now - 1, id))
  const after = pendingKeyOf('pending-saga', laterEntry(before.sk, now, longPauses))
  await table.put({ item: { ...before, tenant: 'acme' }, condition: 'none' })
  const read = async () => (await readDue(table, 'pending-saga', { now, countsLater: true })).due
  expect(await read()).toEqual([{ ...before, tenant: 'acme' }, others[0]])
  await table.transact([
    { remove: before, condition: 'none' },
    { item: { ...after, tenant: 'acme' }, condition: 'none' },
  ])
  expect(await read()).toEqual([others[0]])
  expect(await pendingEntries(table, 'pending-saga')).toEqual([...others, { ...after, tenant: 'acme' }])
})

test('whatever is read is due, in order, and complete for any set of entries', async () => {
  const times = fc.record({
    tenant: fc.constantFrom('a', 'b', 'c'),
    since: fc.integer({ min: -day, max: 0 }),
    due: fc.integer({ min: -hour, max: hour }),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(times, { maxLength: 30 }), async (all) => {
      runtime = memoryRuntime()
      const stored: Item[] = []
      for (const { tenant, since, due } of all) stored.push(await entry(tenant, { due }, idAt(now + since)))
      const { due } = await read()
      const expected = stored
        .filter((_, n) => (all[n]?.due ?? 1) <= 0)
        .toSorted((one, other) => (one.sk < other.sk ? -1 : 1))
      expect(due).toEqual(expected)
    }),
    runs(100),
  )
})
