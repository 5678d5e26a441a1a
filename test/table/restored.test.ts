import { expect, test } from '@jest/globals'
import { processMemory } from '#shared/platform/base/cached-load.ts'
import { restoredAt, restoredKey } from '#shared/platform/table/restored.ts'
import { movableClock } from '#test/support/clocks.ts'

test('the mark of a restored table is read by each process, and again after 30 seconds', async () => {
  let mark: object | undefined
  const table = {
    get: async (key: object) => {
      expect(key).toEqual(restoredKey)
      return mark && { ...restoredKey, ...mark }
    },
  }
  const clock = movableClock()
  const remember = processMemory(clock)
  expect(await restoredAt({ table, remember })).toBeUndefined()
  mark = { at: 17 }
  expect(await restoredAt({ table, remember })).toBeUndefined()
  expect(await restoredAt({ table, remember: processMemory(clock) })).toBe(17)
  clock.advance(30_000)
  expect(await restoredAt({ table, remember })).toBe(17)
})
