import { expect, test } from '@jest/globals'
import { restoredAt, restoredKey } from '#shared/platform/table/restored.ts'
import { movableClock } from '#test/support/clocks.ts'

test('the mark of a restored table is read by each process, at most once in 30 seconds', async () => {
  let reads = 0
  let mark: object | undefined
  const table = {
    get: async (key: object) => {
      reads += 1
      expect(key).toEqual(restoredKey)
      return mark && { ...restoredKey, ...mark }
    },
  }
  const clock = movableClock()
  expect(await restoredAt({ table, clock })).toBeUndefined()
  mark = { at: 17 }
  clock.advance(29_999)
  expect(await restoredAt({ table, clock })).toBeUndefined()
  expect(reads).toBe(1)
  clock.advance(1)
  expect(await restoredAt({ table, clock })).toBe(17)
  expect(await restoredAt({ table, clock: movableClock() })).toBe(17)
  expect(reads).toBe(3)
})
