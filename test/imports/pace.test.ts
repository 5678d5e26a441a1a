import { describe, expect, test } from '@jest/globals'
import { paceKey, takeTurn } from '#shared/imports/pace.ts'
import { startBudget } from '#shared/platform/base/clock.ts'
import { localSettings } from '#test/support/settings.ts'
import { newTable, openTable } from '#test/support/tables.ts'
import { manualClock } from '../listing/manual-clock.ts'

const limit = 1000
const start = 1_800_000_000_000
const settings = { ...localSettings, 'imports.writeUnitsPerSecond': limit }

/** Opens a new table with a clock that stands still except while somebody sleeps. */
async function startPace(budgetSeconds = 3600) {
  const clock = manualClock(start)
  const table = openTable(await newTable())
  const context = { table, clock, settings, budget: startBudget(clock, budgetSeconds * 1000) }
  /** The units of each second so far. */
  const used = async (seconds: number) => {
    const first = Math.floor(start / 1000)
    const counters = Array.from({ length: seconds }, (_, n) => table.get(paceKey(first + n)))
    return (await Promise.all(counters)).map((counter) => Number(counter?.units ?? 0))
  }
  return { clock, context, used }
}

describe('the turns of imports', () => {
  test('use no more units in a second than the setting, each with the unit of its counter', async () => {
    const { context, used } = await startPace()
    for (let turn = 0; turn < 12; turn += 1) await takeTurn(249, context)
    expect(await used(4)).toEqual([1000, 1000, 1000, 0])
  })

  test('that are taken concurrently use no more either', async () => {
    const { context, used } = await startPace()
    await Promise.all(Array.from({ length: 12 }, () => takeTurn(249, context)))
    const seconds = await used(60)
    expect(Math.max(...seconds)).toBeLessThanOrEqual(limit)
    expect(seconds.reduce((sum, units) => sum + units, 0)).toBe(3000)
  })

  test('that are larger than a second take all of it', async () => {
    const { context, used } = await startPace()
    await takeTurn(5000, context)
    await takeTurn(5000, context)
    expect(await used(3)).toEqual([limit, limit, 0])
  })

  test('end with the budget of their step', async () => {
    const { context } = await startPace(2)
    for (let turn = 0; turn < 3; turn += 1) await takeTurn(limit, context)
    await expect(takeTurn(limit, context)).rejects.toMatchObject({ code: 'DEPENDENCY.timeout' })
  })
})
