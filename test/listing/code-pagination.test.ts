import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { movableClock } from '#test/support/clocks.ts'
import { runs } from '#test/support/runs.ts'
import { startService } from '../support/service.ts'
import { CodeStore, codeList, type StoredCode } from './code-list.ts'
import { newTenant, sorted, start } from './code-pages.ts'
import { PaginationModel } from './pagination-model.ts'

const clock = movableClock(start)
const service = await startService({ clock, extra: [codeList] })

async function page(tenant: string, query: Record<string, string>) {
  const { status, json, body } = await service.call({
    path: `/tests/codes?${new URLSearchParams(query)}`,
    as: { tenant, role: 'Admin' },
  })
  if (status !== 200) throw new Error(body)
  const { data, next_cursor, prev_cursor } = json
  return { ids: data.map(({ id }: StoredCode) => id) as string[], next: next_cursor, prev: prev_cursor }
}

/** Few texts, some of them prefixes of others, so adjacent keys are taken, freed and taken again. */
const text = fc.constantFrom('A', 'A-', 'A0', 'A-1', 'AA', 'B', 'B-')

type Query = [query: Record<string, string>, passes: (code: StoredCode) => boolean]

/** Filters, with an independent implementation as the oracle. */
const queries: Query[] = [
  [{}, (code) => !code.soft_deleted],
  [{ include_deleted: 'true' }, () => true],
  [{ include_deleted: 'true' }, () => true],
  [{ deleted: 'true' }, (code) => code.soft_deleted],
  [{ soft_deleted: 'true' }, (code) => code.soft_deleted],
  [{ soft_deleted: 'false', include_deleted: 'true' }, (code) => !code.soft_deleted],
  [{ 'state.in': 'SOFT_DELETED,archived' }, (code) => code.soft_deleted],
  [{ code: ' a- ', include_deleted: 'true' }, (code) => code.code === 'A-'],
  [{ 'code.in': 'b,a-1', include_deleted: 'true' }, (code) => ['B', 'A-1'].includes(code.code)],
  [{ q: 'PERC', include_deleted: 'true' }, (code) => code.type === 'percent'],
  [
    { 'created_at.gt': new Date(start + 2).toISOString(), include_deleted: 'true' },
    (code) => Date.parse(code.created_at) > start + 2,
  ],
]

interface Step {
  move: 'next' | 'prev' | 'add' | 'delete' | 'restore' | 'remove'
  pageSize: number
  which: number
  code: string
  late: boolean
  aside: boolean
}

const turns = ['next', 'next', 'prev'] as const
const moves = [...turns, ...turns, 'add', 'delete', 'restore', 'remove'] as const
const step: fc.Arbitrary<Step> = fc.record({
  move: fc.constantFrom(...moves),
  pageSize: fc.integer({ min: 1, max: 4 }),
  which: fc.nat(),
  code: text,
  late: fc.boolean(),
  aside: fc.boolean(),
})

const made = fc.record({
  code: text,
  offset: fc.integer({ min: 0, max: 10 }),
  type: fc.constantFrom('percent', 'fixed'),
  lifecycle: fc.constantFrom('live', 'live', 'aside', 'aside', 'kept'),
})

/** The changes of codes during a session. */
async function change(store: CodeStore, codes: StoredCode[], gone: Set<StoredCode>, step: Step) {
  const code = codes[step.which % Math.max(codes.length, 1)]
  if (step.move === 'add') {
    // After the first page, at least one millisecond later.
    clock.advance(step.late ? 5 : 0)
    const added = await store.add(clock.now(), step.code)
    if (added) codes.push(added)
  }
  if (!code || gone.has(code)) return
  if (step.move === 'delete' && !code.soft_deleted) await store.softDelete(code, step.aside)
  if (step.move === 'restore' && code.soft_deleted) await store.restore(code)
  if (step.move === 'remove') {
    await store.remove(code)
    gone.add(code)
  }
}

describe.each(['code', 'id'])('any session by %s', (sortedBy) => {
  const property = fc.asyncProperty(
    fc.array(made, { maxLength: 20 }),
    fc.constantFrom(...queries),
    fc.constantFrom('asc', 'desc'),
    fc.array(step, { minLength: 4, maxLength: 20 }),
    async (drafts, [filter, matches], direction, steps) => {
      const store = new CodeStore(service.table, newTenant())
      const codes: StoredCode[] = []
      const gone = new Set<StoredCode>()
      clock.moveTo(start + 10)
      for (const { code, offset, type, lifecycle } of drafts) {
        const added = await store.add(start + offset, code, { type })
        if (added) codes.push(added)
        if (added && lifecycle !== 'live') await store.softDelete(added, lifecycle === 'aside')
      }
      const sort = `${sortedBy}.${direction}`
      const model = new PaginationModel(sorted(codes, sort), (code) => !gone.has(code) && matches(code))
      const query = { ...filter, sort }

      let expected = model.next(3)
      let current = await page(store.tenant, { ...query, page_size: '3' })
      expect(current.ids).toEqual(expected.shown.map(({ id }) => id))
      expect([current.prev, current.next !== null]).toEqual([null, expected.more])
      for (const one of steps) {
        if (one.move !== 'next' && one.move !== 'prev') {
          await change(store, codes, gone, one)
          continue
        }
        const cursor = current[one.move]
        if (cursor === null) continue
        current = await page(store.tenant, { ...query, page_size: String(one.pageSize), cursor })
        expected =
          one.move === 'next' ? model.next(one.pageSize) : { shown: model.prev(one.pageSize), more: true }
        expect(current.ids).toEqual(expected.shown.map(({ id }) => id))
        expect([current.prev === null, current.next !== null]).toEqual([model.atStart, expected.more])
      }
    },
  )

  test('shows the items that existed at its start, in order, in any direction and despite any changes', async () => {
    await fc.assert(property, { ...runs(100) })
  })
})
