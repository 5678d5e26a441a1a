import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { SortIndex } from '#shared/platform/listing/listing.ts'
import {
  adjacentKey,
  allKeys,
  type KeyRange,
  keysOfValue,
  readIndex,
  sortKeyOf,
  valueIn,
} from '#shared/platform/listing/read-index.ts'
import { type Key, keyOf } from '#shared/platform/table/keys.ts'
import type { Range, Table } from '#shared/platform/table/table.ts'
import { idAt } from '#test/support/ids.ts'
import { runs } from '#test/support/runs.ts'
import { newTable, openTable } from '#test/support/tables.ts'
import { uniqueTenant } from '#test/support/unique-tenant.ts'

const value = fc.string({ unit: fc.constantFrom('$', '-', '0', 'A', 'Z', '~'), minLength: 1, maxLength: 4 })
const id = fc
  .tuple(fc.integer({ min: 1, max: 4 }), fc.uint8Array({ minLength: 9, maxLength: 9 }))
  .map(([at, random]) => idAt(at, () => random))
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
  const index: SortIndex = { entity: 'code_lock', idOf: (entry) => String(entry.code_id) }

  /** Reads an index whose table returns these entries, and one entry with its value alone as the key. */
  const readOf = (range: KeyRange, keys: string[], exhausted: boolean, bare?: string) => {
    const entry = (sk: string) => ({ pk: '', sk, code_id: sk.split('#')[1] ?? bare })
    const table = {
      readRange: async () => ({ items: keys.map(entry), exhausted }),
      get: async ({ sk }: Key) => (bare === undefined ? undefined : entry(sk)),
    } as Partial<Table> as Table
    return readIndex({ table, tenant: 'acme' }, index, range)
  }
  const places = (...keys: string[]) => keys.map((sortKey) => ({ sortKey, id: sortKey.split('#')[1] }))

  test('returns an entry in the order of its sort key, whatever its key is', async () => {
    const range = { low: 'A#2', high: 'A#9', descending: false, limit: 2 }
    expect(await readOf(range, ['A#7'], true, '5')).toEqual({ found: places('A#5', 'A#7'), exhausted: true })
  })

  test('returns no sort key before which others are unread', async () => {
    const range = { ...allKeys, limit: 9 }
    const ascending = await readOf({ ...range, descending: false }, ['A#1', 'B'], false, '9')
    expect(ascending).toEqual({ found: places('A#1'), exhausted: false })
    const complete = await readOf({ ...range, descending: false }, ['A#1', 'A#5'], false)
    expect(complete).toEqual({ found: places('A#1', 'A#5'), exhausted: false })
    const descending = await readOf({ ...range, descending: true }, ['B#1', 'A#5'], false, '3')
    expect(descending).toEqual({ found: places('B#1', 'A#5'), exhausted: false })
  })

  /** Reads an index that has these keys for so many reads, and other keys after them. The value alone is the key of 7. */
  const readWhile = (range: KeyRange, before: string[], after: string[], reads: number) => {
    let left = reads
    const entries = () => {
      const keys = left > 0 ? before : after
      left -= 1
      return keys.map((sk) => ({ pk: '', sk, code_id: sk.split('#')[1] ?? '7' }))
    }
    const table = {
      get: async ({ sk }: Key) => entries().find((one) => one.sk === sk),
      readRange: async ({ low, high, descending, limit }: Range) => {
        const inside = entries().filter(({ sk }) => sk >= low && sk <= high)
        const sorted = inside.sort((a, b) => (a.sk < b.sk === descending ? 1 : -1))
        return { items: sorted.slice(0, limit), exhausted: sorted.length < limit }
      },
    } as Partial<Table> as Table
    return readIndex({ table, tenant: 'acme' }, index, range)
  }
  describe.each([
    ['A#7', 'A'],
    ['A', 'A#7'],
  ])('whose entry %s gets the key %s', (from, to) => {
    test.each([0, 1, 2, 3])('returns it above the low end of a range, after %d reads', async (reads) => {
      const range = { low: 'A#3', high: 'A#9', descending: false, limit: 9 }
      const { found } = await readWhile(range, [from, 'A#5'], [to, 'A#5'], reads)
      expect(found).toEqual(places('A#5', 'A#7'))
    })

    test.each([0, 1, 2])(
      'returns it above the last key of a descending read, after %d reads',
      async (reads) => {
        const others = ['A#4', 'A#5', 'A#6']
        const range = { ...allKeys, descending: true, limit: 2 }
        const { found } = await readWhile(range, [from, ...others], [to, ...others], reads)
        expect(found).toEqual(places('A#7', 'A#6'))
      },
    )
  })

  test('is not read for an empty range', async () => {
    const range = { low: 'B', high: 'A', descending: false, limit: 1 }
    expect(await readOf(range, ['B#1'], false)).toEqual({ found: [], exhausted: true })
  })

  test('returns the sort keys of any range in order, of any owner of a value', async () => {
    const table = openTable(await newTable())
    const cases = fc.record({
      held: fc.dictionary(fc.constantFrom('A', 'A-', 'A0', 'B'), id),
      aside: fc.uniqueArray(fc.tuple(fc.constantFrom('A', 'A-', 'A0', 'B'), id), {
        maxLength: 14,
        selector: ([, of]) => of,
      }),
      ends: fc.tuple(fc.nat({ max: 30 }), fc.nat({ max: 30 })),
      descending: fc.boolean(),
      limit: fc.integer({ min: 1, max: 6 }),
    })
    const property = fc.asyncProperty(cases, async ({ held, aside, ends, descending, limit }) => {
      const tenant = uniqueTenant('index')
      const entries = [
        ...Object.entries(held).map(([text, of]) => [text, sortKeyOf(text, of), of] as const),
        ...aside.map(([text, of]) => [sortKeyOf(text, of), sortKeyOf(text, of), of] as const),
      ]
      await Promise.all(
        entries.map(([key, , of]) =>
          table.put({
            item: { ...keyOf(tenant, 'code_lock', key), code_id: of },
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
        const range = { low: from, high: to, descending, limit }
        const read = await readIndex({ table, tenant }, index, range)
        expect(read.found.length <= limit && (read.exhausted || read.found.length > 0)).toBe(true)
        for (const found of read.found) {
          expect(found.sortKey).toBe(sortKeyOf(found.sortKey, found.id))
          seen.push(found.sortKey)
          if (descending) to = adjacentKey(found.sortKey, -1)
          else from = adjacentKey(found.sortKey, 1)
        }
        expect(seen.length).toBeLessThanOrEqual(expected.length)
        exhausted = read.exhausted
      }
      expect(seen).toEqual(expected)
    })
    await fc.assert(property, { ...runs(120) })
  })
})
