import { describe, expect, test } from '@jest/globals'
import { firstIdAt, largestId, lastIdAt, smallestId } from '#shared/platform/base/clock.ts'
import type { Filter } from '#shared/platform/listing/listing.ts'
import { boundedAbove, idRange, orderOf } from '#shared/platform/listing/order.ts'
import { idAt } from '#test/support/ids.ts'
import { newTable, openTable } from '#test/support/tables.ts'
import { codeListing } from './code-list.ts'

const at = Date.parse('2026-03-01T12:00:00Z')
const createdAt = (operator: Filter['operator'], ...values: number[]): Filter => {
  return { field: 'created_at', operator, values }
}

describe('the range of ids for filters', () => {
  test.each<[string, Filter[], { low: string; high: string }]>([
    ['no filter', [], { low: smallestId, high: largestId }],
    ['gte', [createdAt('gte', at)], { low: firstIdAt(at), high: largestId }],
    ['gt', [createdAt('gt', at)], { low: firstIdAt(at + 1), high: largestId }],
    ['lte', [createdAt('lte', at)], { low: smallestId, high: lastIdAt(at) }],
    ['lt', [createdAt('lt', at)], { low: smallestId, high: lastIdAt(at - 1) }],
    ['eq', [createdAt('eq', at)], { low: firstIdAt(at), high: lastIdAt(at) }],
    [
      'a fraction of a millisecond',
      [createdAt('gte', at + 0.5)],
      { low: firstIdAt(at + 1), high: largestId },
    ],
    ['a time before 1970', [createdAt('gte', -1)], { low: firstIdAt(0), high: largestId }],
    [
      'a time that no id holds',
      [createdAt('lte', 2 ** 50)],
      { low: smallestId, high: lastIdAt(2 ** 48 - 1) },
    ],
  ])('%s', (_, filters, range) => {
    expect(idRange(filters)).toEqual(range)
  })

  test('of one id contains only that id', () => {
    const id = idAt(at)
    expect(idRange([{ field: 'id', operator: 'eq', values: [id] }])).toEqual({ low: id, high: id })
  })

  test('of several ids goes from the smallest to the largest, whatever is no id', () => {
    const [low = '', high = ''] = [at, at + 1].map((time) => idAt(time))
    expect(idRange([{ field: 'id', operator: 'in', values: [high, 'x', low] }])).toEqual({ low, high })
  })

  test('of malformed ids is empty', () => {
    const { low, high } = idRange([{ field: 'id', operator: 'eq', values: ['x'] }])
    expect(low > high).toBe(true)
  })

  test('ends at the upper bound of the snapshot', () => {
    const bound = lastIdAt(at)
    expect(boundedAbove({ low: smallestId, high: largestId }, bound).high).toBe(bound)
  })
})

describe('the order by creation', () => {
  test('finds the newest id of a descending session in its first key', async () => {
    const query = {
      ...{ filters: [], search: undefined, deleted: 'excluded' as const, sortedBy: undefined },
      ...{ descending: true, pageSize: 25, cursor: undefined, offset: 0 },
    }
    const table = openTable(await newTable())
    const order = await orderOf({ table, tenant: 'acme', shards: 1, now: at, listing: codeListing, query })
    expect(await order.newest('first')).toBe('first')
  })
})
