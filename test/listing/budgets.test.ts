import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { runs } from '#test/support/runs.ts'
import { newTable, openTable } from '#test/support/tables.ts'
import { CodeStore, type StoredCode } from './code-list.ts'
import { fill, newTenant, pagesOf, read, rest, type Shown, sorted, sorts, start } from './code-pages.ts'

const table = openTable(await newTable())

describe('a session with read budgets over several partitions, beyond a filtered range', () => {
  const walk = fc.record({
    drafts: fc.array(
      fc.record({
        code: fc.constantFrom('A', 'A-', 'B'),
        offset: fc.integer({ min: 0, max: 5 }),
        aside: fc.boolean(),
        type: fc.constantFrom('percent', 'fixed'),
      }),
      { maxLength: 16 },
    ),
    sort: fc.constantFrom(...sorts),
    type: fc.constantFrom('percent', undefined),
    shards: fc.constantFrom(1, 3),
    offset: fc.integer({ min: 0, max: 9 }),
    pageSize: fc.integer({ min: 1, max: 4 }),
    readBudget: fc.integer({ min: 1, max: 8 }),
    byteBudget: fc.constantFrom(1_000_000, 700),
  })

  test('shows everything after its offset, each page adjacent to the previous one, and the same pages backward', async () => {
    const property = fc.asyncProperty(walk, async (drawn) => {
      const { drafts, sort, type, shards, offset, pageSize, readBudget, byteBudget } = drawn
      const store = new CodeStore(table, newTenant(), shards)
      const codes: StoredCode[] = []
      for (const draft of drafts) {
        const added = await store.add(start + draft.offset, draft.code, { type: draft.type })
        if (added) codes.push(added)
        if (added && draft.aside) await store.softDelete(added, true)
      }
      const matching = sorted(codes, sort).filter((code) => type === undefined || code.type === type)
      const ids = matching.map(({ id }) => id)
      const query = {
        sort,
        include_deleted: 'true',
        limit: String(pageSize),
        offset: String(offset),
        ...(type && { type }),
      }
      const pages = pagesOf(store, query, { shards, readBudget, byteBudget })

      const first = await read(pages)
      const walked = [first, ...(await rest(pages, first, 'next'))]
      expect(walked.flatMap((page) => page.ids)).toEqual(ids.slice(offset))
      for (const page of walked) expect(page.ids.length <= pageSize).toBe(true)
      for (const [index, page] of walked.entries()) {
        if (!page.prev || page.ids.length === 0) continue
        const back = await read(pages, page.prev)
        const neighbour = walked[index - 1]?.ids ?? []
        if (neighbour.length > 0) expect(back.ids).toEqual(neighbour)
        // A later page does not read the offset again, so its budget can show more items.
        const again = await read(pages, back.next)
        expect(again.ids.slice(0, page.ids.length)).toEqual(page.ids)
      }
      // Going back from a page shows all items before it, those skipped by the offset too.
      const shown = walked.filter((page) => page.ids.length > 0)
      for (const page of [...shown.slice(0, 1), ...shown.slice(-1)]) {
        const back = await rest(pages, page, 'prev')
        const before = ids.slice(0, ids.indexOf(page.ids[0] as string))
        expect(back.toReversed().flatMap((one) => one.ids)).toEqual(before)
      }
    })
    await fc.assert(property, { ...runs(100) })
  })
})

describe('a page reached backward', () => {
  test.each(sorts)('equals the one before the following page, for any page size, by %s', async (sort) => {
    const { store, codes } = await fill(table, 9, (n) => `C-${n}`)
    const ids = sorted(codes, sort).map(({ id }) => id)
    const pages = (size: number) => pagesOf(store, { sort, page_size: String(size) })
    const third = (await rest(pages(3), await read(pages(3)), 'next'))[1]
    const back = await read(pages(2), third?.prev)
    expect(back.ids).toEqual(ids.slice(4, 6))
    const onward = await read(pages(3), back.next)
    expect(onward.ids).toEqual(third?.ids)
    expect((await read(pages(4), onward.prev)).ids).toEqual(back.ids)
  })
})

describe('a session over the codes with one text', () => {
  test.each(sorts)('starts at its first key even if that code was deleted since, by %s', async (sort) => {
    const store = new CodeStore(table, newTenant())
    const codes: StoredCode[] = []
    for (let n = 0; n < 3; n += 1) {
      const added = (await store.add(start + n, 'SAME')) as StoredCode
      await store.softDelete(added, true)
      codes.push(added)
    }
    const [gone, ...left] = sorted(codes, sort)
    const pages = pagesOf(store, { sort, code: 'SAME', include_deleted: 'true', page_size: '1' })
    const first = await read(pages)
    await store.remove(gone as StoredCode)
    const walked = await rest(pages, first, 'next')
    expect(walked.flatMap((page) => page.ids)).toEqual(left.map(({ id }) => id))
    const back = await rest(pages, walked[0] as Shown, 'prev')
    expect(back.map((page) => page.ids)).toEqual([[]])
  })
})

describe('a session with an item created by a clock that is ahead', () => {
  test.each(sorts)('shows that item in its order, to the last page and back, by %s', async (sort) => {
    const { store, codes } = await fill(table, 5, (n) => `C-${(n * 2) % 5}`)
    const ids = sorted(codes, sort).map(({ id }) => id)
    const pages = pagesOf(store, { sort, page_size: '2' }, { now: start - 5000 })
    const first = await read(pages)
    await store.add(start + 5, 'C-1X')
    const walked = [first, ...(await rest(pages, first, 'next'))]
    expect(walked.flatMap((page) => page.ids)).toEqual(ids)
    const back = await rest(pages, walked.at(-1) as Shown, 'prev')
    expect(back.toReversed().flatMap((page) => page.ids)).toEqual(ids.slice(0, 4))
  })
})

describe('an offset that exceeds the read budget', () => {
  test.each(sorts)('continues where it stopped, by %s', async (sort) => {
    const { store, codes } = await fill(table, 12, (n) => `C-${(n * 7) % 12}`)
    const ids = sorted(codes, sort).map(({ id }) => id)
    const pages = pagesOf(store, { sort, limit: '2', offset: '7' }, { readBudget: 3 })
    const first = await read(pages)
    expect([first.ids, first.next?.skip]).toEqual([[], 4])
    const walked = await rest(pages, first, 'next')
    expect(walked.map((page) => page.ids).filter((page) => page.length > 0)).toEqual([
      ids.slice(7, 9),
      ids.slice(9, 11),
      ids.slice(11),
    ])
    const shown = walked.find((page) => page.ids.length > 0)
    expect((await rest(pages, shown as Shown, 'prev')).flatMap((page) => page.ids).sort()).toEqual(
      ids.slice(0, 7).sort(),
    )
  })

  test('beyond the end of the list shows an empty page without a next one', async () => {
    const { store } = await fill(table, 3, (n) => `C-${n}`)
    const page = await read(pagesOf(store, { limit: '2', offset: '5' }))
    expect([page.ids, page.next]).toEqual([[], undefined])
  })
})
