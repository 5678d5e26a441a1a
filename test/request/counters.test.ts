import { beforeEach, describe, expect, test } from '@jest/globals'
import { systemClock } from '#shared/platform/base/clock.ts'
import { sourceOf } from '#shared/platform/identity/caller.ts'
import { type Counter, countIn, uncountRequest } from '#shared/platform/request/rate-limit.ts'
import type { Put, Table } from '#shared/platform/table/table.ts'
import { newTable, openTable } from '#test/support/tables.ts'

const table = openTable(await newTable())
let now = Date.parse('2026-03-01T12:00:00Z')
let address: Counter
let source: Counter

const clock = { ...systemClock, now: () => now }
const count = (...counters: Counter[]) => countIn(counters, table, clock)
const refused = (seconds: number) => ({
  code: 'RATE_LIMIT.exceeded',
  headers: { 'Retry-After': String(seconds) },
})

beforeEach(() => {
  address = { limit: 2, windowSeconds: 60, subject: [crypto.randomUUID()] }
  source = { limit: 3, windowSeconds: 300, subject: [crypto.randomUUID()] }
})

describe('several counters of one request', () => {
  test('reject it if one of them is full', async () => {
    for (let n = 0; n < 3; n += 1) await count({ ...address, subject: [crypto.randomUUID()] }, source)
    await expect(count(address, source)).rejects.toMatchObject(refused(300))
  })

  test('do not count a rejected request', async () => {
    await count(address, source)
    await count(address, source)
    await expect(count(address, source)).rejects.toMatchObject(refused(60))
    await expect(count(source)).resolves.toBe(now)
  })

  test('return the longest wait', async () => {
    await count(source)
    now += 1000
    await count(address, source)
    await count(address, source)
    await expect(count(address, source)).rejects.toMatchObject(refused(299))
  })

  test('return the details of those that are full', async () => {
    const [hinted, other] = [
      { ...address, details: { a: 1 } },
      { ...source, details: { b: 1 } },
    ]
    await count(hinted, other)
    await count(hinted, other)
    await expect(count(hinted, other)).rejects.toMatchObject({ details: { a: 1 } })
    await expect(count(hinted, other)).rejects.not.toMatchObject({ details: { b: 1 } })
  })

  test('admit no more concurrent requests than the limit', async () => {
    const burst = Array.from({ length: 10 }, () =>
      count({ ...address, subject: [crypto.randomUUID()] }, source),
    )
    const outcomes = await Promise.allSettled(burst)
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
  })
})

test('a removed request makes room for another', async () => {
  await count(address)
  const countedAt = await count(address)
  await uncountRequest(address.subject, countedAt, table)
  await expect(count(address)).resolves.toBe(now)
})

test('a request is removed once', async () => {
  const countedAt = await count(address)
  now += 1
  await count(address)
  for (let n = 0; n < 3; n += 1) await uncountRequest(address.subject, countedAt, table)
  await count(address)
  await expect(count(address)).rejects.toMatchObject(refused(60))
})

/** Records the calls of the table, of which puts may be refused. */
function recorded(refusals = 0) {
  const calls: string[] = []
  const puts: Put[] = []
  const recording: Table = {
    ...table,
    get(key) {
      calls.push('get')
      return table.get(key)
    },
    getMany(keys) {
      calls.push('getMany')
      return table.getMany(keys)
    },
    transact(changes) {
      calls.push('transact')
      return table.transact(changes)
    },
    async put(put) {
      calls.push('put')
      puts.push(put)
      const { pk, sk } = put.item
      return puts.length > refusals ? table.put(put) : { index: 0, existing: await table.get({ pk, sk }) }
    },
  }
  return { calls, puts, recording }
}

test('each change of a window requires its version', async () => {
  const { puts, recording } = recorded()
  await countIn([address], recording, clock)
  const countedAt = await countIn([address], recording, clock)
  await uncountRequest(address.subject, countedAt, recording)
  await uncountRequest(['nobody'], countedAt, recording)
  const expires_at = Math.ceil(now / 1000) + 60
  expect(puts).toMatchObject([
    { item: { version: 1, times: [now], expires_at }, condition: { absent: true } },
    { item: { version: 2, times: [now, now] }, condition: { matches: { version: 1 } } },
    { item: { version: 3, times: [now] }, condition: { matches: { version: 2 } } },
  ])
  expect(puts).toHaveLength(3)
})

test('one counter costs a read and a write, several cost one of each, none costs nothing', async () => {
  const callsOf = async (...counters: Counter[]) => {
    const { calls, recording } = recorded()
    await countIn(counters, recording, clock)
    return calls
  }
  expect(await callsOf(address)).toEqual(['get', 'put'])
  expect(await callsOf(address, source)).toEqual(['getMany', 'transact'])
  expect(await callsOf()).toEqual([])
})

test('a window that always changes is given up after sixty rounds', async () => {
  const busy = recorded(Number.POSITIVE_INFINITY)
  const hinted = { ...address, details: { a: 1 } }
  const failure = { ...refused(1), details: { a: 1 } }
  await expect(countIn([hinted], busy.recording, clock)).rejects.toMatchObject(failure)
  expect(busy.puts).toHaveLength(60)
  const countedAt = await count(address)
  const removal = recorded(Number.POSITIVE_INFINITY)
  await uncountRequest(address.subject, countedAt, removal.recording)
  expect(removal.puts).toHaveLength(60)
  const late = recorded(2)
  await uncountRequest(address.subject, countedAt, late.recording)
  expect(late.puts).toHaveLength(3)
})

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::ffff:192.0.2.1', '::ffff:192.0.2.1'],
  ['', ''],
])('the source of %s is %s', (sourceAddress, expected) => expect(sourceOf({ sourceAddress })).toBe(expected))
