import { marshall } from '@aws-sdk/util-dynamodb'
import { beforeEach, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { systemClock } from '#shared/platform/base/clock.ts'
import type { Key } from '#shared/platform/table/keys.ts'
import type { Change, Put, Table, Update } from '#shared/platform/table/table.ts'
import { type Counter, countIn, hasRoom, uncountRequest } from '#shared/platform/table/window.ts'
import { itemBytes } from '#test/support/capacity.ts'
import { runs } from '#test/support/runs.ts'
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

  test('do not count what a larger limit rejects', async () => {
    for (let n = 0; n < 3; n += 1) await count(source)
    for (let n = 0; n < 3; n += 1) await expect(count(address, source)).rejects.toMatchObject(refused(300))
    await count(address)
    await expect(count(address)).resolves.toBe(now)
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

  test('return the details of the one with the longest wait', async () => {
    const [short, long] = [
      { ...address, details: { max: 2 } },
      { ...source, limit: 2, details: { max: 3 } },
    ]
    for (const order of [
      [short, long],
      [long, short],
    ]) {
      for (let n = 0; n < 2; n += 1) await count(...order).catch(() => undefined)
      await expect(count(...order)).rejects.toMatchObject({ ...refused(300), details: { max: 3 } })
    }
  })

  test('admit no more concurrent requests than the limit', async () => {
    const burst = Array.from({ length: 10 }, () =>
      count({ ...address, subject: [crypto.randomUUID()] }, source),
    )
    const outcomes = await Promise.allSettled(burst)
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
  })
})

test('the wait is that of the oldest request, whatever the order in which processes count theirs', async () => {
  now += 5000
  await count(address)
  now -= 5000
  await count(address)
  await expect(count(address)).rejects.toMatchObject(refused(60))
})

test('a removed request makes room for another', async () => {
  await count(address)
  const countedAt = await count(address)
  await uncountRequest(address, countedAt, table, clock)
  await expect(count(address)).resolves.toBe(now)
})

test('a request is removed once', async () => {
  const countedAt = await count(address)
  now += 1
  await count(address)
  for (let n = 0; n < 3; n += 1) await uncountRequest(address, countedAt, table, clock)
  await count(address)
  await expect(count(address)).rejects.toMatchObject(refused(60))
})

test('a removal keeps what others change at the same time', async () => {
  const wide = { ...address, limit: 4 }
  const first = await count(wide)
  now += 10_000
  const second = await count(wide)
  const racing: Table = {
    ...table,
    async put(change) {
      racing.put = table.put
      await uncountRequest(wide, first, table, clock)
      now += 10_000
      await count(wide)
      return table.put(change)
    },
  }
  await uncountRequest(wide, second, racing, clock)
  // The window has the third request, and not the first two.
  for (let n = 0; n < 3; n += 1) await count(wide)
  await expect(count(wide)).rejects.toMatchObject(refused(60))
})

test('an event that is not a request fits or does not', async () => {
  const results = []
  for (let n = 0; n < 3; n += 1) results.push(await hasRoom(address, table, clock))
  expect(results).toEqual([true, true, false])
})

/** Records the changes of the table, of which updates may be refused as if the window changed all the time. */
function recorded(refusals = 0) {
  const calls: string[] = []
  const slept: number[] = []
  /** The windows that were changed. */
  const keys: Key[] = []
  const changeOne =
    (name: 'put' | 'update') =>
    async <C extends Change>(change: C) => {
      calls.push(name)
      const { pk, sk } = 'update' in change ? change.update : (change as Put).item
      keys.push({ pk, sk })
      if (calls.length > refusals)
        return name === 'put' ? table.put(change as Put) : table.update(change as Update)
      return { index: 0, existing: await table.get({ pk, sk }) }
    }
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
    put: changeOne('put'),
    update: changeOne('update'),
  }
  const sleeping = {
    ...clock,
    jitter: () => 0.5,
    sleep: async (milliseconds: number) => void slept.push(milliseconds),
  }
  return {
    calls,
    slept,
    keys,
    count: (...counters: Counter[]) => countIn(counters, recording, sleeping),
    recording,
    sleeping,
  }
}

describe('the calls of a counter', () => {
  test('are one for each request', async () => {
    const { calls, count } = recorded()
    await count(address)
    await count(address)
    expect(calls).toEqual(['update', 'update'])
  })

  test('are one for each of several counters', async () => {
    const { calls, count } = recorded()
    await count(address, source)
    expect(calls).toEqual(['update', 'update'])
  })

  test('are none without a counter', async () => {
    const { calls, count } = recorded()
    await count()
    expect(calls).toEqual([])
  })

  test('are two when the window is full of old requests, which are then dropped', async () => {
    const { calls, count } = recorded()
    for (let n = 0; n < 2; n += 1) await count(address)
    now += 60_000
    await count(address)
    await count(address)
    expect(calls).toEqual(['update', 'update', 'update', 'put', 'update'])
  })

  test('are one for a rejected request', async () => {
    const { calls, count } = recorded()
    for (let n = 0; n < 2; n += 1) await count(address)
    await expect(count(address)).rejects.toMatchObject(refused(60))
    expect(calls).toEqual(['update', 'update', 'update'])
  })

  test('are one for a request that the smallest of its limits rejects', async () => {
    const { calls, count } = recorded()
    for (let n = 0; n < 2; n += 1) await count(address)
    await expect(count(source, address)).rejects.toMatchObject(refused(60))
    expect(calls).toEqual(['update', 'update', 'update', 'getMany'])
  })

  test('let the table delete a window once its last request has left it', async () => {
    const { keys, count } = recorded()
    const expiry = async () => (keys[0] && (await table.get(keys[0])))?.expires_at
    for (const pause of [0, 1500, 60_000]) {
      now += pause
      await count(address)
      expect(await expiry()).toBe(Math.ceil(now / 1000) + address.windowSeconds)
    }
  })

  test('pause while others change the window, and end after twelve', async () => {
    await count(address)
    const { calls, slept, count: counted } = recorded(Number.POSITIVE_INFINITY)
    await expect(counted({ ...address, details: { a: 1 } })).rejects.toMatchObject({
      ...refused(1),
      details: { a: 1 },
    })
    expect([calls.length, slept]).toEqual([12, Array(10).fill(50)])
  })

  test('of a removal pause, and end after twelve', async () => {
    const countedAt = await count(address)
    const { calls, slept, recording, sleeping } = recorded(Number.POSITIVE_INFINITY)
    await uncountRequest(address, countedAt, recording, sleeping)
    expect(calls).toEqual(['get', ...Array(12).fill('put')])
    expect(slept).toEqual(Array(12).fill(50))
  })
})

test.each([100, 200])(
  'a hundred concurrent requests on a window full of %i old ones are all admitted',
  async (limit) => {
    const wide = { ...address, limit }
    for (let n = 0; n < limit; n += 1) await count(wide)
    now += 63_000
    const calls: string[] = []
    const counting: Table = {
      ...table,
      put: (one) => table.put(one).finally(() => calls.push('put')),
      update: (one) => table.update(one).finally(() => calls.push('update')),
    }
    const burst = Array.from({ length: 100 }, () => countIn([wide], counting, clock))
    const outcomes = await Promise.allSettled(burst)
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(100)
    // Each is refused at most once by the old requests, and once by the one that dropped them.
    expect(calls.length).toBeLessThanOrEqual(300)
  },
)

describe('a counter of a large limit', () => {
  const large = (limit: number): Counter => ({ ...address, limit })

  test('admits at most its limit in any window, and all of it in a window and a twentieth', async () => {
    const pauses = fc.array(fc.tuple(fc.nat({ max: 40_000 }), fc.integer({ min: 1, max: 160 })), {
      maxLength: 12,
    })
    const property = fc.asyncProperty(pauses, async (bursts) => {
      const counter = { ...large(150), subject: [crypto.randomUUID()] }
      const admitted: number[] = []
      const since = (milliseconds: number) => admitted.filter((at) => at > now - milliseconds).length
      for (const [pause, size] of bursts) {
        now += pause
        for (let n = 0; n < size; n += 1) {
          if (await hasRoom(counter, table, clock)) admitted.push(now)
          else expect(since(63_000)).toBeGreaterThanOrEqual(150)
          expect(since(60_000)).toBeLessThanOrEqual(150)
        }
      }
    })
    await fc.assert(property, runs(10))
  })

  test('says when it has room', async () => {
    now = Math.ceil(now / 3000) * 3000 + 1000
    for (let n = 0; n < 100; n += 1) await count(large(101))
    now += 30_000
    await count(large(101))
    await expect(count(large(101))).rejects.toMatchObject(refused(32))
    now += 31_999
    await expect(count(large(101))).rejects.toMatchObject(refused(1))
    now += 1
    await expect(count(large(101))).resolves.toBe(now)
  })

  test('takes one write unit for a request, whatever its limit', async () => {
    const { keys, calls, count } = recorded()
    for (let n = 0; n < 1000; n += 1) {
      now += 61
      await count(large(5000))
    }
    const window = await table.get(keys[0] as Key)
    expect(itemBytes(marshall(window))).toBeLessThan(1024)
    // One more for each slice.
    expect(calls.length).toBeLessThanOrEqual(2 * 1000 - 950)
  })

  test('counts the requests of a process whose clock is behind', async () => {
    await count(large(101))
    now -= 10_000
    for (let n = 0; n < 100; n += 1) await count(large(101))
    await expect(count(large(101))).rejects.toMatchObject({ code: 'RATE_LIMIT.exceeded' })
    now += 10_000
    await expect(count(large(101))).rejects.toMatchObject({ code: 'RATE_LIMIT.exceeded' })
  })

  test('takes a request back, also of an earlier slice', async () => {
    const early = await count(large(101))
    now += 10_000
    for (let n = 0; n < 100; n += 1) await count(large(101))
    await uncountRequest(large(101), early, table, clock)
    await count(large(101))
    await uncountRequest(large(101), now, table, clock)
    await count(large(101))
    await expect(count(large(101))).rejects.toMatchObject({ code: 'RATE_LIMIT.exceeded' })
  })

  test('counts requests by their amounts', async () => {
    const heavy = { ...large(1000), amount: 400 }
    for (let n = 0; n < 3; n += 1) await count(heavy)
    await expect(count(heavy)).rejects.toMatchObject({ code: 'RATE_LIMIT.exceeded' })
  })
})
