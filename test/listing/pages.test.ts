import { describe, expect, test } from '@jest/globals'
import { orderListing } from '#shared/orders/order-listing.ts'
import { firstIdAt, timeOf, timestamp } from '#shared/platform/base/clock.ts'
import { type ListQuery, parseListQuery } from '#shared/platform/listing/list-query.ts'
import type { FilterOperator } from '#shared/platform/listing/listing.ts'
import type { ListRead } from '#shared/platform/listing/read-index.ts'
import { matches } from '#shared/platform/listing/read-page.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import { idAt } from '#test/support/ids.ts'
import { localSettings } from '#test/support/settings.ts'
import { newTable, openTable } from '#test/support/tables.ts'
import { codeListing } from './code-list.ts'
import { read, rest, type Shown } from './code-pages.ts'

const table = openTable(await newTable())

const start = Date.parse('2026-03-01T00:00:00.000Z')

async function fill(tenant: string, count: number, shards = 1): Promise<string[]> {
  const at = (n: number) => idAt(start + Math.floor(n / 3), undefined, shards)
  const ids = Array.from({ length: count }, (_, n) => at(n)).sort()
  await Promise.all(
    ids.map((id) => {
      const item = { ...keyOf(tenant, 'order', id), id, status: 'active', created_at: timestamp(timeOf(id)) }
      return table.put({ item: { ...item, version: 1 }, condition: { absent: true } })
    }),
  )
  return ids
}

function request(tenant: string, query: [string, string][] = []): ListRead {
  return {
    table,
    tenant,
    shards: 1,
    listing: orderListing,
    query: parseListQuery(query, orderListing, 'orders.list', false, localSettings),
    searchFields: [],
    now: start + 60_000,
    readBudget: 1000,
    byteBudget: 1_000_000,
    sizeOf: () => 300,
  }
}

/** Returns the ids of each page, and the last page. */
async function walk(pages: ListRead): Promise<{ seen: string[][]; last: Shown }> {
  const first = await read(pages)
  const walked = [first, ...(await rest(pages, first, 'next'))]
  return { seen: walked.map(({ ids }) => ids), last: walked.at(-1) ?? first }
}

describe('a tenant with several partitions', () => {
  test.each(['desc', 'asc'])('is listed as one, %s', async (direction) => {
    const tenant = `sharded-${direction}`
    const ids = await fill(tenant, 50, 3)
    const query: [string, string][] = [
      ['sort', `id.${direction}`],
      ['page_size', '17'],
    ]
    const pages = { ...request(tenant, query), shards: 3 }
    const { seen, last } = await walk(pages)
    expect(seen.flat()).toEqual(direction === 'asc' ? ids : ids.toReversed())
    const back = await rest(pages, last, 'prev')
    expect(back.map((page) => page.ids)).toEqual(seen.slice(0, -1).toReversed())
  })
})

describe('a page', () => {
  test('ends before it exceeds its bytes, and the next one continues', async () => {
    const ids = await fill('bytes', 10)
    const { seen } = await walk({ ...request('bytes'), byteBudget: 1000 })
    expect(seen.map((page) => page.length)).toEqual([3, 3, 3, 1])
    expect(seen.flat()).toEqual(ids.toReversed())
  })

  test('contains one item even if that exceeds its bytes', async () => {
    await fill('fat', 2)
    const { seen } = await walk({ ...request('fat'), byteBudget: 10 })
    expect(seen.map((page) => page.length)).toEqual([1, 1])
  })

  test('filtered by created_at reads only that range', async () => {
    await fill('ranged', 60)
    const at = new Date(start + 10).toISOString()
    const pages = request('ranged', [
      ['created_at.gte', at],
      ['created_at.lt', new Date(start + 12).toISOString()],
    ])
    const { seen } = await walk(pages)
    expect(seen.flat()).toHaveLength(6)
    expect(seen.flat().every((id) => id >= firstIdAt(start + 10) && id < firstIdAt(start + 12))).toBe(true)
  })
})

describe('an item', () => {
  const item = {
    pk: '',
    sk: '',
    uses: 3,
    created_at: '2026-03-01T00:00:00.000Z',
    code: 'SPRING',
    type: 'percent',
  }
  const all: ListQuery = parseListQuery([], codeListing, 'codes.list', true, localSettings)
  const isListed = (changes: object, query: Partial<ListQuery> = {}) =>
    matches({ ...item, ...changes }, { ...all, ...query }, codeListing, ['code', 'type'])

  test.each<[FilterOperator, number[], boolean]>([
    ['eq', [3], true],
    ['eq', [4], false],
    ['in', [1, 3], true],
    ['in', [1, 4], false],
    ['gte', [3], true],
    ['gte', [4], false],
    ['gt', [2], true],
    ['gt', [3], false],
    ['lte', [3], true],
    ['lte', [2], false],
    ['lt', [4], true],
    ['lt', [3], false],
  ])('with the value 3 passes a filter %s %j: %j', (operator, values, matches) => {
    expect(isListed({}, { filters: [{ field: 'uses', operator, values }] })).toBe(matches)
    const times = values.map((value) => start + value)
    const created_at = timestamp(start + 3)
    expect(isListed({ created_at }, { filters: [{ field: 'created_at', operator, values: times }] })).toBe(
      matches,
    )
  })

  test('passes all filters or is left out', () => {
    const filters = [3, 4].map((value) => ({ field: 'uses', operator: 'eq' as const, values: [value] }))
    expect(isListed({}, { filters })).toBe(false)
  })

  test.each([
    ['SPR', true],
    ['CENT', true],
    ['WINTER', false],
    ['UNDEFINED', false],
  ])('is found by %s in any field: %j', (search, found) => {
    expect(isListed({}, { search })).toBe(found)
  })

  test.each<[ListQuery['deleted'], boolean, boolean]>([
    ['excluded', true, false],
    ['included', true, true],
    ['only', false, true],
  ])('with deleted items %s is listed (%j), and a deleted one (%j)', (deleted, live, gone) => {
    expect(isListed({}, { deleted })).toBe(live)
    expect(isListed({ soft_deleted: true }, { deleted })).toBe(gone)
  })

  test('that was erased is never listed', () => {
    expect(isListed({ erased_at: item.created_at }, { deleted: 'included' })).toBe(false)
  })
})
