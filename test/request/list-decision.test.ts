import { beforeEach, describe, expect, test } from '@jest/globals'
import * as v from 'valibot'
import { parseListQuery } from '#shared/platform/listing/list-query.ts'
import { openWork, type RequestContext } from '#shared/platform/request/context.ts'
import type { Input } from '#shared/platform/request/endpoint.ts'
import { type ListedResource, listDecision, listEnvelope } from '#shared/platform/request/list-decision.ts'
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
}

/** Returns the decision of a list request. */
async function decide(query: Record<string, string> = {}, how: How = {}) {
  const settings = { ...runtime.settings, ...how.settings }
  const work = openWork(
    { ...runtime, settings },
    { operation: 'codes.list', correlation: { id: 'c1', trace: {} }, milliseconds: 10_000 },
  )
  const context = Object.assign(work, { scope: { tenant: how.tenant ?? 'acme', allTenants: false } })
  const list = parseList(query, settings)
  const { kilobytes, bytes } = how
  const route = {
    ...codeList.route,
    ...(kilobytes !== undefined && { payloadKilobytes: kilobytes }),
    ...(bytes !== undefined && { replyBytes: () => bytes }),
  }
  const { body, etag } = await listDecision(route, { list } as Input, context as RequestContext, listed)
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
    const { data, next_cursor } = await decide({}, { settings: { 'lists.readBudget': 3 } })
    expect([data.length, next_cursor]).toEqual([3, expect.any(String)])
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

test.each([
  ['a route without a listing', { ...codeList.route, listing: undefined }, parseList()],
  ['a request without a query', codeList.route, undefined],
])('%s is no list', async (_, route, list) => {
  const decision = listDecision(route as never, { list } as Input, runtime as never, listed)
  await expect(decision).rejects.toThrow('codes.list is not a list')
})
