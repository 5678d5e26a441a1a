import { describe, expect, test } from '@jest/globals'
import { maxWaitMilliseconds, waitForWrites, writeRateKey } from '#shared/imports/limit-rate.ts'
import { startBudget } from '#shared/platform/base/clock.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import { MemoryStore } from '#test/simulation/memory-store.ts'
import { memoryTable } from '#test/simulation/memory-table.ts'
import { Random } from '#test/simulation/random.ts'
import { Scheduler } from '#test/simulation/scheduler.ts'
import { clockOf, movableClock } from '#test/support/clocks.ts'
import { localSettings } from '#test/support/settings.ts'
import { startImports } from './import-service.ts'

const limit = 1000
const start = 1_800_000_000_000
const settings = { ...localSettings, 'imports.writeUnitsPerSecond': limit }

/** Opens a new table in virtual time, whose calls take some milliseconds. */
function startRate() {
  const scheduler = new Scheduler(start, false)
  const random = new Random(1)
  const clock = clockOf(scheduler, random)
  const budget = startBudget(clock, 110_000)
  const store = new MemoryStore({ now: clock.now })
  const table = memoryTable(store, { clock, budget }, async ({ effect }) => {
    await scheduler.sleep(1 + random.int(5))
    return effect()
  })
  const context = { table, clock, settings, budget }
  /** Waits for writes at the same time. @returns the time of each, in seconds since the start; undefined if it is too late */
  async function timesOf(writes: readonly number[]): Promise<(number | undefined)[]> {
    const times: (number | undefined)[] = []
    const work = writes.map(async (units, index) => {
      times[index] = (await waitForWrites(units, context)) ? (clock.now() - start) / 1000 : undefined
    })
    await scheduler.runUntil(Promise.all(work))
    return times
  }
  return { clock, timesOf }
}

const reserved = (times: readonly (number | undefined)[]) =>
  times.filter((time) => time !== undefined).toSorted((one, other) => one - other)

describe('the writes of imports', () => {
  test('follow each other at the rate of the setting, each with the unit of its reservation', async () => {
    const { timesOf } = startRate()
    const times = reserved(await timesOf(Array(12).fill(499)))
    expect(times).toHaveLength(12)
    for (const [index, time] of times.entries()) expect(time).toBeCloseTo(index / 2, 0)
    const distances = times.slice(1).map((time, index) => time - (times[index] ?? 0))
    expect(Math.min(...distances)).toBeGreaterThan(0.49)
  })

  test('use the whole rate while a hundred chunks compete, and the others wait in the workflow', async () => {
    const { timesOf } = startRate()
    const times = await timesOf(Array(100).fill(624))
    const seconds = maxWaitMilliseconds / 1000
    expect(reserved(times)).toHaveLength(Math.floor((seconds * limit) / 625) + 1)
    expect(Math.max(...reserved(times))).toBeLessThanOrEqual(seconds + 0.5)
  })

  test('may take longer than a second, and the next one comes afterwards', async () => {
    const { timesOf } = startRate()
    const [first = 0] = reserved(await timesOf([4999]))
    const [second = 0] = reserved(await timesOf([10]))
    expect(first).toBeLessThan(0.1)
    expect(second).toBeGreaterThan(4.9)
  })

  test('that would be too late reserve nothing', async () => {
    const { timesOf } = startRate()
    await timesOf([20_000])
    expect(await timesOf([10])).toEqual([undefined])
    expect(await timesOf([10])).toEqual([undefined])
  })
})

describe('a chunk', () => {
  const file = 'email\na@example.com\nnobody\n'

  /** Starts an import while writes are reserved for some time. */
  async function startLate(reservedMilliseconds: number) {
    const service = await startImports()
    const id: string = (await service.upload('acme', file)).json.operation_id
    const clock = movableClock()
    service.steps.clock = clock
    const until = clock.now() + reservedMilliseconds
    await service.table.put({ item: { ...writeRateKey, until }, condition: 'none' })
    return { service, clock, id }
  }

  test('whose writes are far away writes nothing, and runs again until they are near', async () => {
    const { service, clock, id } = await startLate(5 * maxWaitMilliseconds)
    const written: number[] = []
    let chunks = 0
    await service.run('acme', id, {
      around: async (step, _input, work) => {
        if (step === 'rows') chunks += 1
        return work()
      },
      waited: async () => {
        written.push((await service.customers('acme')).length)
        await clock.sleep(2 * maxWaitMilliseconds)
      },
    })
    expect(written).toEqual([0, 0])
    expect(chunks).toBe(3)
    expect((await service.read('acme', id)).json.result.counts).toEqual({ total: 2, succeeded: 1, failed: 1 })
  })

  test.each(['canceled', 'purged'])('whose import is %s during the wait writes no customer', async (end) => {
    const { service, clock, id } = await startLate(maxWaitMilliseconds / 2)
    const waits: number[] = []
    service.steps.clock = {
      ...clock,
      async sleep(milliseconds) {
        waits.push(milliseconds)
        const key = keyOf('acme', 'operation', id)
        if (end === 'purged') await service.table.transact([{ remove: key, condition: 'none' }])
        if (end === 'canceled') await service.cancel('acme', id)
      },
    }
    await service.run('acme', id)
    expect(waits).toEqual([maxWaitMilliseconds / 2])
    expect(await service.customers('acme')).toEqual([])
  })
})
