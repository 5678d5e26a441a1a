import { beforeEach, describe, expect, test } from '@jest/globals'
import * as v from 'valibot'
import { parseListQuery } from '#shared/platform/listing/list-query.ts'
import { openWork } from '#shared/platform/request/context.ts'
import type { Input } from '#shared/platform/request/endpoint.ts'
import { type ListedResource, listDecision, listEnvelope } from '#shared/platform/request/list-decision.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import type { Settings } from '#shared/settings/register.ts'
import { CodeStore, codeList, codeListing, type StoredCode } from '#test/listing/code-list.ts'
import { type MemoryRuntime, memoryRuntime } from '#test/support/memory-runtime.ts'
import { localSettings } from '#test/support/settings.ts'

let runtime: MemoryRuntime
let store: CodeStore
let codes: StoredCode[]
let start: number
beforeEach(async () => {
  runtime = memoryRuntime()
  start = runtime.clock.now()
  store = new CodeStore(runtime.table, 'acme')
  codes = []
  for (let n = 0; n < 5; n += 1) {
    codes.unshift((await store.add(start + n, `C-${n}`, { type: `type-${n}` })) as StoredCode)
  }
  runtime.clock.advance(10)
})

interface How {
  settings?: Partial<Settings>
  /** The most kilobytes of a page, and the bytes that a setting allows instead. */
  kilobytes?: number
  bytes?: number
  tenant?: string
  sub?: string
}

/** Returns the decision of a list request. */
async function decide(query: Record<string, string> = {}, how: How = {}) {
  const settings = { ...runtime.settings, ...how.settings }
  const work = openWork(
    { ...runtime, settings },
    { operation: 'codes.list', correlation: { id: 'c1', trace: {} }, milliseconds: 10_000 },
  )
  const { tenant = 'acme', sub = 'jane' } = how
  const caller = { tenant, sub, claims: {} }
  const context = Object.assign(work, { scope: { tenant, allTenants: false }, caller })
  const list = parseList(query, settings)
  const { kilobytes, bytes } = how
  const route = {
    ...codeList.route,
    ...(kilobytes !== undefined && { payloadKilobytes: kilobytes }),
    ...(bytes !== undefined && { replyBytes: () => bytes }),
  }
  const { body, etag } = await listDecision(route, { list } as Input, context as never, listed)
  return { ...v.parse(envelope, body), etag }
}

function parseList(query = {}, settings = localSettings) {
  return parseListQuery(Object.entries(query), codeListing, 'codes.list', true, settings)
}

interface View {
  id: string
  code: string
  text?: string
}
/** Callers do not get the text of a view. */
const listed: ListedResource<View> = {
  resource: {
    viewOf: ({ id, code }) => ({ id, code, text: 'x'.repeat(400) }),
    shown: ({ text: _, ...shown }) => shown,
  },
  stored: (item) => item as unknown as View,
}
const envelope = listEnvelope('Codes', v.looseObject({ code: v.string() }))
const codesOf = ({ data }: { data: { code: string }[] }) => data.map(({ code }) => code)

describe('a page', () => {
  test('has the members of the envelope', async () => {
    const { data, next_cursor, etag, ...others } = await decide({ page_size: '2' })
    expect(data).toEqual(codes.slice(0, 2).map(({ id, code }) => ({ id, code, text: 'x'.repeat(400) })))
    expect(next_cursor).toEqual(expect.any(String))
    expect(etag).toMatch(/^W\/"[\w-]{27}"$/)
    expect(others).toEqual({
      ...{ page_size: 2, prev_cursor: null, count: null },
      sort: 'created_at.desc,id.desc',
    })
  })

  test('continues by its cursors, forward and back', async () => {
    const first = await decide({ page_size: '2' })
    const second = await decide({ page_size: '2', cursor: String(first.next_cursor) })
    expect(codesOf(second)).toEqual(['C-2', 'C-1'])
    expect(codesOf(await decide({ page_size: '2', cursor: String(second.prev_cursor) }))).toEqual([
      'C-4',
      'C-3',
    ])
  })

  test('rejects a cursor of another tenant', async () => {
    const { next_cursor } = await decide({ page_size: '2' })
    const foreign = decide({ cursor: String(next_cursor) }, { tenant: 'other' })
    await expect(foreign).rejects.toThrow('VALIDATION.cursor.invalid')
  })

  test('is found by the fields that the listing searches', async () => {
    expect(codesOf(await decide({ q: 'TYPE-3' }))).toEqual(['C-3'])
  })

  test('ends before what callers get exceeds its bytes', async () => {
    const bytes = (data: unknown) => JSON.stringify(data).length + 1
    const [{ id, code }] = codes as [StoredCode]
    const view = { id, code }
    expect((await decide({}, { bytes: 4096 + 2 * bytes(view) })).data).toHaveLength(2)
    expect((await decide({}, { bytes: 4096 + 2 * bytes(view) - 1 })).data).toHaveLength(1)
    expect((await decide({}, { kilobytes: 5 })).data).toHaveLength(5)
  })

  test('reads at most the budget of the settings', async () => {
    const query = { type: 'type-0', page_size: '1' }
    const { data, next_cursor } = await decide(query, { settings: { 'lists.readBudget': 3 } })
    expect([data.length, next_cursor]).toEqual([0, expect.any(String)])
  })

  test('that is the first waits for the next millisecond, and a later one does not', async () => {
    const before = runtime.clock.now()
    const { next_cursor } = await decide({ page_size: '2' })
    expect(runtime.clock.now()).toBe(before + 1)
    await decide({ cursor: String(next_cursor) })
    expect(runtime.clock.now()).toBe(before + 1)
  })
})

describe('the count', () => {
  const exact = { 'lists.count': 'exact', 'lists.offsetPaging': ['codes.list'] } as const

  test('is that of all matches, on every page', async () => {
    const query = { sort: 'code.asc', limit: '2', offset: '1' }
    const { count, count_strategy, data } = await decide(query, { settings: exact as never, bytes: 4196 })
    expect([count, count_strategy, data.length]).toEqual([5, 'exact', 1])
  })

  test('is null if the read budget is too small', async () => {
    const counted = await decide({}, { settings: { ...exact, 'lists.readBudget': 3 } as never })
    expect(counted.count).toBeNull()
    expect(counted).not.toHaveProperty('count_strategy')
  })

  test('that fails, fails the page', async () => {
    let reads = 0
    runtime.beforeCall = ({ name }) => {
      if (name === 'read-range') reads += 1
      if (reads === 2) throw Object.assign(new Error('gone'), { name: 'ResourceNotFoundException' })
    }
    await expect(decide({}, { settings: exact as never })).rejects.toThrow('gone')
  })
})

describe('the entity tag of a page', () => {
  const exact: How = { settings: { 'lists.count': 'exact' } }
  const remaining = () => codes.at(-1) as StoredCode

  test('stays the same while nothing changes', async () => {
    const { etag } = await decide()
    expect((await decide()).etag).toBe(etag)
  })

  test.each<[string, Record<string, string>, () => unknown, How?]>([
    ['a new version of an item', {}, () => store.restore(remaining())],
    ['an item after the page', { sort: 'id.asc', page_size: '2' }, () => store.add(start + 20, 'NEW')],
    ['the end of the list', { page_size: '4' }, () => store.softDelete(remaining(), true)],
    ['another count', { page_size: '2' }, () => store.softDelete(remaining(), true), exact],
  ])('changes with %s', async (_, query, change, how = {}) => {
    const { etag } = await decide(query, how)
    await change()
    expect((await decide(query, how)).etag).not.toBe(etag)
  })

  test.each([{ uses: '0' }, { page_size: '10' }])(
    'changes with %j, even if the items are the same',
    async (query) => {
      const { etag } = await decide()
      expect((await decide(query)).etag).not.toBe(etag)
    },
  )
})

describe('the units of searches', () => {
  const search = { type: 'absent' }
  /** The calls of the table that concern counters. */
  let counting: string[]
  beforeEach(async () => {
    for (let n = 0; n < 300; n += 1) await store.add(start + n, `D-${n}`)
    runtime.clock.advance(1000)
    counting = []
    runtime.beforeCall = ({ name, input, changes }) => {
      if (/"rate#/.test(JSON.stringify([input, changes]))) counting.push(name)
    }
  })
  const counters = () => runtime.store.all().filter(({ pk }) => pk.startsWith('rate#'))

  /** Its second match is among the first ten items, and its page is not complete after one read. */
  const early = { 'type.in': 'type-3,type-4', page_size: '1' }

  test.each<[string, Record<string, string>, How?]>([
    ['without filters', { page_size: '100' }],
    ['with a filter that enough items pass', { type: 'percent' }],
    ['that finds its matches in a second read', { ...early, sort: 'id.asc' }],
    ['that finds its items by their keys', { 'id.in': '00000000-0000-8000-8000-000000000000', type: 'x' }],
    ['with a count of few items', {}, { tenant: 'small', settings: { 'lists.count': 'exact' } }],
  ])('are not counted by a page %s', async (_, query, how = {}) => {
    await decide(query, how)
    expect([counting, counters()]).toEqual([[], []])
  })

  test('are counted once they are read, without those of a plain page', async () => {
    await decide(search)
    expect(counting).toEqual(['get', 'update', 'put'])
    const [{ total }] = counters() as [Item]
    // Some 305 items of 200 bytes.
    expect(total).toBeGreaterThan(8)
    expect(total).toBeLessThan(20)
  })

  test('by code are counted from the second read on, because each item takes a unit', async () => {
    for (const code of codes) await store.softDelete(code, false)
    await decide({ page_size: '1', sort: 'code.asc' })
    expect(counting).toEqual([])
    await decide({ ...early, sort: 'code.asc', include_deleted: 'true' })
    expect(counting).toEqual(['get', 'update', 'put'])
  })

  test('are counted although the page fails', async () => {
    let reads = 0
    runtime.beforeCall = ({ name }) => {
      if (name === 'read-range') reads += 1
      if (name === 'read-range' && reads === 5)
        throw Object.assign(new Error('gone'), { name: 'ResourceNotFoundException' })
    }
    await expect(decide({ ...search, page_size: '1' })).rejects.toThrow('gone')
    expect(counters()).toHaveLength(1)
  })

  test('refuse a caller who has used them up only what searches, until its window has room', async () => {
    await decide(search)
    const [counter] = counters() as [Item]
    runtime.store.put({ item: { ...counter, count: 5000, total: 5000 }, condition: 'none' })
    await expect(decide(search)).rejects.toMatchObject({
      code: 'RATE_LIMIT.exceeded',
      details: { reason: 'read_units', per: 'principal', max: 5000, window_seconds: 10 },
    })
    expect((await decide()).data).toHaveLength(25)
    expect((await decide(search, { sub: 'another' })).data).toEqual([])
    runtime.clock.advance(10_500)
    expect((await decide(search)).data).toEqual([])
  })

  test('include those of a count, which is left out for a caller who has used them up', async () => {
    const exact: How = { settings: { 'lists.count': 'exact' } }
    expect((await decide({}, exact)).count).toBe(305)
    const [counter] = counters() as [Item]
    expect(counter.total).toBeGreaterThan(1)
    runtime.store.put({ item: { ...counter, count: 5000, total: 5000 }, condition: 'none' })
    const { data, count } = await decide({}, exact)
    expect([data.length, count]).toEqual([25, null])
  })

  test('that cannot be counted fail no request', async () => {
    runtime.beforeCall = ({ changes }) => {
      if (changes.length > 0) throw Object.assign(new Error('gone'), { name: 'ResourceNotFoundException' })
    }
    expect((await decide(search)).data).toEqual([])
  })
})

test.each([
  ['a route without a listing', { ...codeList.route, listing: undefined }, parseList()],
  ['a request without a query', codeList.route, undefined],
])('%s is no list', async (_, route, list) => {
  const decision = listDecision(route as never, { list } as Input, runtime as never, listed)
  await expect(decision).rejects.toThrow('codes.list is not a list')
})
