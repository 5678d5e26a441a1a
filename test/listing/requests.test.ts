import { describe, expect, test } from '@jest/globals'
import type { Table } from '#shared/platform/table/table.ts'
import { newTable, openTable } from '#test/support/tables.ts'
import { CodeStore, type StoredCode } from './code-list.ts'
import { fill, newTenant, pagesOf, read, rest, sorted, sorts, start } from './code-pages.ts'

const stored = openTable(await newTable())

/** The table and its requests. */
function counted(table: Table): Table & { asked: string[]; keys: number[] } {
  const asked: string[] = []
  const keys: number[] = []
  const { get, getMany, readRange } = table
  return {
    ...table,
    asked,
    keys,
    get: (key) => {
      asked.push('get')
      return get(key)
    },
    getMany: (many) => {
      if (many.length > 0) asked.push('getMany')
      if (many.length > 0) keys.push(many.length)
      return getMany(many)
    },
    readRange: (range) => {
      if (range.low <= range.high) asked.push(`${range.partition.split('#')[0]} ${range.limit}`)
      return readRange(range)
    },
  }
}

describe('the requests of a page to the table', () => {
  test('by code: one Query and one getMany; a session adds the newest code once, and later pages the owner of the text', async () => {
    const { store } = await fill(stored, 30, (n) => `C-${n}`)
    for (const direction of ['asc', 'desc']) {
      const table = counted(stored)
      const pages = pagesOf(store, { sort: `code.${direction}`, page_size: '10' }, { table })
      const { next } = await read(pages)
      expect(table.asked).toEqual(['code_lock 12', 'getMany', 'code 1'])
      table.asked.length = 0
      await read(pages, next)
      expect(table.asked.toSorted()).toEqual([
        'code_lock 12',
        ...(direction === 'asc' ? ['get'] : []),
        'getMany',
      ])
    }
  })

  test('by code with filters: at most a hundred items each time, up to the budget', async () => {
    const { store, codes } = await fill(
      stored,
      230,
      (n) => `C-${n}`,
      (n) => ({ uses: n % 50 }),
    )
    const table = counted(stored)
    const query = { sort: 'code.asc', uses: '49', page_size: '2' }
    const pages = pagesOf(store, query, { table, readBudget: 150 })
    const first = await read(pages)
    expect(table.keys).toEqual([100, 50])
    const walked = [first, ...(await rest(pages, first, 'next'))]
    const expected = sorted(codes, 'code.asc').filter(({ uses }) => uses === 49)
    expect(walked.flatMap((page) => page.ids)).toEqual(expected.map(({ id }) => id))
    const whole = pagesOf(store, { sort: 'code.asc', page_size: '100' }, { table })
    expect((await read(whole)).ids).toHaveLength(100)
    expect(Math.max(...table.keys)).toBe(100)
  })

  test('by code: no item outside of a time filter or above the upper bound', async () => {
    const { store, codes } = await fill(stored, 8, (n) => `C-${n}`)
    const table = counted(stored)
    const query = { sort: 'code.asc', 'created_at.gte': new Date(start + 6).toISOString() }
    const { ids } = await read(pagesOf(store, query, { table }))
    expect([ids, table.keys]).toEqual([codes.slice(6).map(({ id }) => id), [2]])
  })

  test('one code: only its entries, freed ones included, in every order', async () => {
    const { store, codes } = await fill(stored, 250, (n) => `C-${n}`)
    const named = codes[125] as StoredCode
    await store.softDelete(named, true)
    const again = (await store.add(start + 130, named.code)) as StoredCode
    const requests = { 'code.asc': 3, 'code.desc': 3, 'id.asc': 3, 'id.desc': 2 }
    for (const [sort, expected] of Object.entries(requests)) {
      const table = counted(stored)
      const query = { sort, code: ` ${named.code.toLowerCase()}`, include_deleted: 'true' }
      const { ids, next, prev } = await read(pagesOf(store, query, { table, now: start + 1000 }))
      const both = sorted([named, again], sort).map(({ id }) => id)
      expect([ids, next, prev]).toEqual([both, undefined, undefined])
      expect(table.asked).toHaveLength(expected)
    }
  })

  test('several codes: all of them, in every order', async () => {
    const { store, codes } = await fill(stored, 4, (n) => `C-${n}`)
    for (const sort of sorts) {
      const { ids } = await read(pagesOf(store, { sort, 'code.in': 'C-1,C-3' }))
      expect(ids).toEqual(sorted([codes[1], codes[3]] as StoredCode[], sort).map(({ id }) => id))
    }
  })

  test.each([
    ['by id', { sort: 'id.asc' }, 'code 11'],
    ['by id, from a time', { sort: 'id.asc', 'created_at.gte': new Date(start).toISOString() }, 'code 11'],
    ['by id, at some times', { sort: 'id.asc', 'created_at.in': new Date(start).toISOString() }, 'code 100'],
    ['by id, with uses', { sort: 'id.asc', uses: '0' }, 'code 100'],
    ['by id, with a text', { sort: 'id.asc', q: 'x' }, 'code 100'],
    ['by id, deleted', { sort: 'id.asc', deleted: 'true' }, 'code 100'],
    ['by code', { sort: 'code.asc' }, 'code_lock 12'],
    ['by code, of one code', { sort: 'code.asc', code: 'C-1' }, 'code_lock 12'],
    ['by code, with uses', { sort: 'code.asc', uses: '0' }, 'code_lock 101'],
  ])('%s: a hundred items at a time only if few of them may match', async (_, query, first) => {
    const { store } = await fill(stored, 3, (n) => `C-${n}`)
    const table = counted(stored)
    await read(pagesOf(store, { page_size: '10', ...query }, { table }))
    expect(table.asked[0]).toBe(first)
  })

  test('by id: as many items again as deleted ones are missing, from the next one on', async () => {
    const { store, codes } = await fill(stored, 7, (n) => `C-${n}`)
    for (const code of codes.slice(5)) await store.softDelete(code, true)
    const table = counted(stored)
    const { ids } = await read(pagesOf(store, { sort: 'id.desc', page_size: '3' }, { table }))
    expect(ids).toEqual([codes[4], codes[3], codes[2]].map((code) => code?.id))
    expect(table.asked).toEqual(['code 4', 'code 2'])
  })

  test('by id: few reads, although many deleted ones hide the next one', async () => {
    const { store, codes } = await fill(stored, 64, (n) => `C-${n}`)
    for (const code of codes.slice(1)) await store.softDelete(code, true)
    const table = counted(stored)
    const { ids } = await read(pagesOf(store, { sort: 'id.desc', page_size: '1' }, { table }))
    expect(ids).toEqual([codes[0]?.id])
    expect(table.asked).toEqual(['code 2', 'code 2', 'code 4', 'code 8', 'code 16', 'code 32', 'code 64'])
  })

  test('an absent code: an empty page at once, in both directions', async () => {
    const { store } = await fill(stored, 150, (n) => `C-${n}`)
    for (const sort of ['code.asc', 'id.desc']) {
      const table = counted(stored)
      const pages = pagesOf(store, { sort, code: 'C-1X' }, { table, readBudget: 101 })
      expect(await read(pages)).toEqual({ ids: [], next: undefined, prev: undefined })
      expect(table.asked.length).toBeLessThanOrEqual(2)
    }
  })

  test('ids: only from the smallest to the largest', async () => {
    const { store, codes } = await fill(stored, 300, (n) => `C-${n}`)
    const wanted = [codes[201], codes[205], codes[209]].map((code) => (code as StoredCode).id)
    const table = counted(stored)
    const query = { sort: 'id.asc', 'id.in': [...wanted, 'nothing'].join() }
    const { ids, next } = await read(pagesOf(store, query, { table, readBudget: 101 }))
    expect([ids, next]).toEqual([wanted, undefined])
    expect(await read(pagesOf(store, { 'id.in': 'nothing,else' }, { table }))).toMatchObject({ ids: [] })
  })

  test.each(sorts)('one id, by %s', async (sort) => {
    const { store, codes } = await fill(stored, 5, (n) => `C-${n}`)
    const [, , named] = codes
    const table = counted(stored)
    const { ids, next } = await read(pagesOf(store, { sort, id: String(named?.id) }, { table }))
    expect([ids, next]).toEqual([[named?.id], undefined])
    expect(table.keys).toEqual(sort.startsWith('code') ? [1] : [])
  })

  test('hundreds of freed codes: all of them, in every order', async () => {
    const store = new CodeStore(stored, newTenant())
    const codes: StoredCode[] = []
    for (let n = 0; n < 130; n += 1) {
      const added = (await store.add(start + (n % 90), n % 10 ? 'SAME' : 'OTHER')) as StoredCode
      codes.push(added)
      await store.softDelete(added, true)
    }
    codes.push((await store.add(start + 45, 'SAME')) as StoredCode)
    for (const sort of sorts) {
      const query = { sort, code: 'SAME', include_deleted: 'true', page_size: '9' }
      const pages = pagesOf(store, query)
      const first = await read(pages)
      const walked = [first, ...(await rest(pages, first, 'next'))]
      const expected = sorted(codes, sort).filter(({ code }) => code === 'SAME')
      expect(walked.flatMap((page) => page.ids)).toEqual(expected.map(({ id }) => id))
    }
  })
})
