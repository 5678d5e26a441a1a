import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { uuidV7 } from '#shared/platform/base/clock.ts'
import type { SortIndex } from '#shared/platform/listing/listing.ts'
import {
  adjacentKey,
  allKeys,
  keysOfValue,
  readIndex,
  sortKeyOf,
  valueIn,
} from '#shared/platform/listing/read-index.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import { runs } from '#test/support/runs.ts'
import { newTable, openTable } from '#test/support/tables.ts'

const value = fc.string({ unit: fc.constantFrom('$', '-', '0', 'A', 'Z', '~'), minLength: 1, maxLength: 4 })
const id = fc
  .tuple(fc.integer({ min: 1, max: 4 }), fc.uint8Array({ minLength: 10, maxLength: 10 }))
  .map(([at, random]) => uuidV7(at, random))
const place = fc.tuple(value, id).map(([text, of]) => sortKeyOf(text, of))

describe('sort keys', () => {
  test('sort by value, then by id, after the bare key of the value', () => {
    const pairs = fc.array(fc.tuple(value, id), { maxLength: 40 })
    fc.assert(
      fc.property(pairs, (made) => {
        const sorted = made.map(([text, of]) => sortKeyOf(text, of)).sort()
        const compare = (one: string, other: string) => Number(one > other) - Number(one < other)
        const expected = made.toSorted(([a, x], [b, y]) => compare(a, b) || compare(x, y))
        expect(sorted).toEqual(expected.map(([text, of]) => sortKeyOf(text, of)))
        for (const [index, one] of sorted.entries()) {
          expect(valueIn(one) < one).toBe(true)
          const before = sorted[index - 1]
          if (before !== undefined && valueIn(before) !== valueIn(one))
            expect(before < valueIn(one)).toBe(true)
        }
      }),
    )
  })

  test('have an adjacent key, with none in between', () => {
    fc.assert(
      fc.property(fc.uniqueArray(place, { maxLength: 40 }), (places) => {
        const sorted = places.sort()
        for (const [index, one] of sorted.entries()) {
          expect([adjacentKey(adjacentKey(one, 1), -1), adjacentKey(adjacentKey(one, -1), 1)]).toEqual([
            one,
            one,
          ])
          const [after, before] = [sorted[index + 1] ?? allKeys.high, sorted[index - 1] ?? allKeys.low]
          expect(one < adjacentKey(one, 1) && adjacentKey(one, 1) <= after).toBe(true)
          expect(one > adjacentKey(one, -1) && adjacentKey(one, -1) >= before).toBe(true)
        }
      }),
    )
  })

  test('within the bounds of a value are exactly those of that value', () => {
    fc.assert(
      fc.property(value, place, (text, one) => {
        const { low, high } = keysOfValue(text)
        expect(one >= low && one <= high).toBe(valueIn(one) === text)
      }),
    )
  })
})

describe('an index', () => {
  const index: SortIndex = { entity: 'code_claim', idOf: (entry) => String(entry.code_id) }
  let tenants = 0

  test('returns the sort keys of any range in order, whoever owns a value', async () => {
    const table = openTable(await newTable())
    const cases = fc.record({
      held: fc.dictionary(fc.constantFrom('A', 'A-', 'A0', 'B'), id),
      aside: fc.uniqueArray(fc.tuple(fc.constantFrom('A', 'A-', 'A0', 'B'), id), {
        maxLength: 14,
        selector: ([, of]) => of,
      }),
      shards: fc.constantFrom(1, 3),
      ends: fc.tuple(fc.nat({ max: 30 }), fc.nat({ max: 30 })),
      descending: fc.boolean(),
      limit: fc.integer({ min: 1, max: 6 }),
    })
    const property = fc.asyncProperty(cases, async ({ held, aside, shards, ends, descending, limit }) => {
      const tenant = `index-${++tenants}`
      const entries = [
        ...Object.entries(held).map(([text, of]) => [text, sortKeyOf(text, of), of] as const),
        ...aside.map(([text, of]) => [sortKeyOf(text, of), sortKeyOf(text, of), of] as const),
      ]
      await Promise.all(
        entries.map(([key, , of]) =>
          table.put({
            item: { ...keyOf(tenant, 'code_claim', key, shards), code_id: of },
            condition: { absent: true },
          }),
        ),
      )
      const places = entries.map(([, one]) => one).sort()
      const bounds = [allKeys.low, keysOfValue('A').low, keysOfValue('A-').high, allKeys.high, ...places]
      const [low = '', high = ''] = ends.map((end) => bounds[end % bounds.length] as string)
      const inside = places.filter((one) => one >= low && one <= high)
      const expected = descending ? inside.toReversed() : inside

      const seen: string[] = []
      let [from, to] = [low, high]
      for (let exhausted = false; !exhausted; ) {
        const stretch = { low: from, high: to, descending, limit }
        const read = await readIndex({ table, tenant, shards }, index, stretch)
        expect(read.found.length <= limit && (read.exhausted || read.found.length > 0)).toBe(true)
        for (const found of read.found) {
          expect(found.sortKey).toBe(sortKeyOf(found.sortKey, found.id))
          seen.push(found.sortKey)
          if (descending) to = adjacentKey(found.sortKey, -1)
          else from = adjacentKey(found.sortKey, 1)
        }
        exhausted = read.exhausted
      }
      expect(seen).toEqual(expected)
    })
    await fc.assert(property, { numRuns: runs(120) })
  })
})
