import { describe, expect, test } from '@jest/globals'
import { adjacentId } from '#shared/platform/base/clock.ts'
import { readPage } from '#shared/platform/listing/read-page.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import type { Table } from '#shared/platform/table/table.ts'
import { unitsRead } from '#test/simulation/call-units.ts'
import { idAt, seededBytes } from '#test/support/ids.ts'
import { memoryRuntime } from '#test/support/memory-runtime.ts'
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
  test('by code: one Query and one getMany; a session adds the newest code once, and later pages the owner of the text, twice', async () => {
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
        ...(direction === 'asc' ? ['get', 'get'] : []),
        'getMany',
      ])
    }
  })

  test('by code with filters: fewer items than by id, because each takes a unit of its own', async () => {
    const { store, codes } = await fill(
      stored,
      230,
      (n) => `C-${n}`,
      (n) => ({ uses: n % 50 }),
    )
    const table = counted(stored)
    const query = { sort: 'code.asc', uses: '49', page_size: '2' }
    const pages = pagesOf(store, query, { table, readBudget: 500 })
    const first = await read(pages)
    expect(table.keys.reduce((sum, keys) => sum + keys, 0)).toBe(100)
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
    for (const sort of sorts) {
      const table = counted(stored)
      const query = { sort, code: ` ${named.code.toLowerCase()}`, include_deleted: 'true' }
      const { ids, next, prev } = await read(pagesOf(store, query, { table, now: start + 1000 }))
      const both = sorted([named, again], sort).map(({ id }) => id)
      expect([ids, next, prev]).toEqual([both, undefined, undefined])
      expect(table.asked).toHaveLength(2)
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
    ['by id, at some times', { sort: 'id.asc', 'created_at.in': new Date(start).toISOString() }, 'code 11'],
    ['by id, with a text', { sort: 'id.asc', q: 'x' }, 'code 11'],
    ['by code', { sort: 'code.asc' }, 'code_lock 12'],
    ['by code, with uses', { sort: 'code.asc', uses: '0' }, 'code_lock 12'],
  ])('%s: at first as many items as the page may show, and one more', async (_, query, first) => {
    const { store } = await fill(stored, 3, (n) => `C-${n}`)
    const table = counted(stored)
    await read(pagesOf(store, { page_size: '10', ...query }, { table }))
    expect(table.asked[0]).toBe(first)
  })

  test.each([1, 25, 100])(
    'a page of %i without matches: at most six reads of its budget',
    async (page_size) => {
      const { store, codes } = await fill(memoryRuntime().table, 1010, (n) => `C-${n}`)
      const table = counted(store.table)
      const query = { sort: 'id.desc', q: 'absent', page_size: String(page_size) }
      const { ids, next } = await read(pagesOf(store, query, { table }))
      expect([ids, next?.start]).toEqual([[], codes[9]?.id && adjacentId(codes[10]?.id ?? '', -1)])
      expect(table.asked.length).toBeLessThanOrEqual(6)
    },
  )

  test.each([1, 4, 16, 64])(
    'a page without matches, over %i shards: few reads one after the other, in one budget',
    async (shards) => {
      const { table, store } = memoryRuntime()
      const random = seededBytes(shards)
      for (let n = 0; n < 1500; n += 1) {
        const id = idAt(start + n, random, shards)
        const item = { ...keyOf('acme', 'code', id), id, type: 'x', text: '-'.repeat(230) }
        store.put({ item, condition: 'none' })
      }
      for (const sort of ['id.asc', 'id.desc'])
        for (const page_size of ['1', '25', '100']) {
          const count = { rounds: 0, inProgress: 0, units: 0 }
          const counting: Table = {
            ...table,
            async readRange(range) {
              if (count.inProgress === 0) count.rounds += 1
              count.inProgress += 1
              const read = await table.readRange(range)
              count.inProgress -= 1
              count.units += unitsRead({ name: 'read-range', input: range }, read)
              return read
            },
          }
          const pages = pagesOf(
            { tenant: 'acme', table: counting } as CodeStore,
            { sort, page_size, q: 'absent' },
            { shards },
          )
          expect((await readPage(pages)).next).toBeDefined()
          // The first page of an ascending list looks for the newest item of each shard, too.
          const [rounds, units] = sort === 'id.asc' ? [1, shards] : [0, 0]
          expect(count.rounds).toBeLessThanOrEqual(6 + rounds)
          expect(count.units).toBeLessThanOrEqual(240 + units)
        }
    },
  )

  test('the newest item of an ascending list: a unit of each shard, and nothing if one page holds the list', async () => {
    const { table, store } = memoryRuntime()
    const random = seededBytes(1)
    for (let n = 0; n < 200; n += 1) {
      const id = idAt(start + n, random, 16)
      const item = { id, created_at: new Date(start + n).toISOString(), text: '-'.repeat(900) }
      store.put({ item: { ...keyOf('acme', 'code', id), ...item }, condition: 'none' })
    }
    let units = 0
    const counting: Table = {
      ...table,
      async readRange(range) {
        const read = await table.readRange(range)
        if (range.descending) units += unitsRead({ name: 'read-range', input: range }, read)
        return read
      },
    }
    const source = { tenant: 'acme', table: counting } as CodeStore
    for (const [since, expected] of [
      [0, 16],
      [190, 0],
    ]) {
      units = 0
      const query = { sort: 'id.asc', 'created_at.gte': new Date(start + Number(since)).toISOString() }
      const { next } = await readPage(pagesOf(source, query, { shards: 16 }))
      expect([units, next !== undefined]).toEqual([expected, since === 0])
    }
  })

  test('a page of which every other item matches: two reads', async () => {
    const { store, codes } = await fill(
      memoryRuntime().table,
      1000,
      (n) => `C-${n}`,
      (n) => ({ uses: n % 2 }),
    )
    const table = counted(store.table)
    const { ids } = await read(pagesOf(store, { sort: 'id.desc', uses: '1' }, { table }))
    const matching = codes.filter((_, n) => n % 2).toReversed()
    expect(ids).toEqual(matching.slice(0, 25).map(({ id }) => id))
    expect(table.asked).toHaveLength(2)
    expect(Number(table.asked[1]?.split(' ')[1])).toBeLessThan(60)
  })

  test('by id: few reads, although many deleted ones hide the next one', async () => {
    const { store, codes } = await fill(stored, 64, (n) => `C-${n}`)
    for (const code of codes.slice(1)) await store.softDelete(code, true)
    const table = counted(stored)
    const { ids } = await read(pagesOf(store, { sort: 'id.desc', page_size: '1' }, { table }))
    expect(ids).toEqual([codes[0]?.id])
    expect(table.asked.length).toBeLessThanOrEqual(4)
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

  test.each(sorts)('ids: only their items, each once, by %s', async (sort) => {
    const { store, codes } = await fill(stored, 300, (n) => `C-${n}`)
    const wanted = [codes[1], codes[205], codes[299]] as StoredCode[]
    const table = counted(stored)
    const query = {
      sort,
      'id.in': [...wanted.map(({ id }) => id), 'nothing', idAt(start)].join(),
      page_size: '2',
    }
    const pages = pagesOf(store, query, { table, now: start + 1000 })
    const first = await read(pages)
    expect(new Set(table.asked)).toEqual(new Set(['getMany']))
    expect(table.keys.reduce((sum, keys) => sum + keys, 0)).toBeLessThanOrEqual(4)
    const walked = [first, ...(await rest(pages, first, 'next'))]
    expect(walked.flatMap(({ ids }) => ids)).toEqual(sorted(wanted, sort).map(({ id }) => id))
    expect(await read(pagesOf(store, { sort, 'id.in': 'nothing,else' }, { table }))).toMatchObject({
      ids: [],
    })
  })

  test.each(sorts)('one id, by %s', async (sort) => {
    const { store, codes } = await fill(stored, 5, (n) => `C-${n}`)
    const [, , named] = codes
    const table = counted(stored)
    const query = { sort, id: String(named?.id), 'id.in': codes.map(({ id }) => id).join() }
    const { ids, next } = await read(pagesOf(store, query, { table, now: start + 1000 }))
    expect([ids, next]).toEqual([[named?.id], undefined])
    expect([table.asked, table.keys]).toEqual([['getMany'], [1]])
  })

  test.each(sorts)('an id that is made after the first page: not shown, by %s', async (sort) => {
    const { store, codes } = await fill(stored, 3, (n) => `C-${n}`)
    const late = idAt(start + 500)
    const query = { sort, 'id.in': [...codes.map(({ id }) => id), late].join(), page_size: '1' }
    const pages = pagesOf(store, query)
    const first = await read(pages)
    await store.add(start + 500, 'C-9', { id: late })
    const walked = [first, ...(await rest(pages, first, 'next'))]
    expect(walked.flatMap(({ ids }) => ids)).toEqual(sorted(codes, sort).map(({ id }) => id))
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
