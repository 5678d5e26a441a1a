import { beforeEach, describe, expect, test } from '@jest/globals'
import { systemClock } from '#shared/platform/base/clock.ts'
import { type Failure, fail } from '#shared/platform/base/failure.ts'
import { bulkSaga } from '#shared/platform/jobs/bulk-saga.ts'
import { type RowBatch, type RowDecision, runRows } from '#shared/platform/jobs/run-rows.ts'
import { startService } from '#test/support/service.ts'

interface Row {
  key: string
  n: number
}

let context: Parameters<typeof runRows>[1]
let id: string
const faults: Failure[] = []
const service = await startService()
beforeEach(() => {
  id = crypto.randomUUID()
  faults.length = 0
  const caller = { sub: 'u1', tenant: 'acme', role: 'Editor' as const, scopes: new Set<string>(), claims: {} }
  const correlation = { id: 'c', trace: {} }
  context = { table: service.table, clock: systemClock, caller, correlation }
})

const rowsOf = (count: number, keys = count) =>
  Array.from({ length: count }, (_, n): Row => ({ key: `key-${n % keys}`, n }))
const done = ({ n }: Row): RowDecision => ({ status: 201, id: `id-${n}` })
const run = (rows: Row[], decide: (row: Row) => RowDecision | Promise<RowDecision>) => {
  const keyOf = ({ key }: Row) => key
  const batch: RowBatch<Row> = {
    id,
    onFault: (failure) => faults.push(failure),
    rows,
    keyOf,
    decide: async (row) => decide(row),
    deniedAction: () => ({ action: 'import', area: 'codes' }),
    resumableSeconds: 3600,
  }
  return runRows(batch, context)
}
const never = () => {
  throw new Error('a row that was done is decided again')
}

/** Marks rows as done, with ids of this length. */
async function mark(rows: Row[], length: number) {
  for (let from = 0; from < rows.length; from += 100) {
    const items = rows.slice(from, from + 100).map(({ n }) => ({
      item: {
        pk: `batch#${id}`,
        sk: String(n).padStart(8, '0'),
        status: 201,
        row_id: `${n}-`.padEnd(length, 'x'),
      },
      condition: { absent: true as const },
    }))
    await service.table.transact(items)
  }
}

describe('the rows of a batch', () => {
  test.each([
    ['more than a query requests', 2001, 10],
    ['more than a query can read', 600, 4000],
  ])('are recognized as done if they are %s', async (_, count, length) => {
    const rows = rowsOf(count)
    await mark(rows, length)
    const results = await run(rows, never)
    expect(results.map(({ index, status, id: of }) => [index, status, of])).toEqual(
      rows.map(({ n }) => [n, 201, `${n}-`.padEnd(length, 'x')]),
    )
  })

  test('are kept at least as long as the batch can be resumed', async () => {
    const now = Date.parse('2026-03-01T12:00:00.001Z')
    context = { ...context, clock: { ...systemClock, now: () => now } }
    await run(rowsOf(1), done)
    const row = await service.table.get({ pk: `batch#${id}`, sk: '00000000' })
    expect(Number(row?.expires_at)).toBeGreaterThanOrEqual(now / 1000 + 3600)
  })

  test('keep their entity tags when the batch is resumed', async () => {
    const rows = rowsOf(2)
    const tagged = (row: Row) => (row.n === 0 ? { ...done(row), etag: '"0"' } : done(row))
    const results = await run(rows, tagged)
    expect(results.map(({ etag }) => etag)).toEqual(['"0"', undefined])
    expect(await run(rows, never)).toEqual(results)
  })

  test('that are not done are executed, and no others', async () => {
    const rows = rowsOf(60)
    await mark(
      rows.filter(({ n }) => n % 3 === 0),
      10,
    )
    const decided: number[] = []
    const results = await run(rows, (row) => {
      decided.push(row.n)
      return done(row)
    })
    expect(decided.sort((a, b) => a - b)).toEqual(rows.map(({ n }) => n).filter((n) => n % 3 !== 0))
    expect(results.map(({ index }) => index)).toEqual(rows.map(({ n }) => n))
    expect(await run(rows, never)).toEqual(results)
  })

  test('with the same key run in order, and do not block others', async () => {
    const underWay = new Set<string>()
    const order = new Map<string, number[]>()
    let most = 0
    await run(rowsOf(90, 30), async (row) => {
      expect(underWay).not.toContain(row.key)
      underWay.add(row.key)
      most = Math.max(most, underWay.size)
      order.set(row.key, [...(order.get(row.key) ?? []), row.n])
      await new Promise((resolve) => setTimeout(resolve, 5))
      underWay.delete(row.key)
      return done(row)
    })
    expect([...order.values()]).toEqual(Array.from({ length: 30 }, (_, n) => [n, n + 30, n + 60]))
    expect(most).toBe(16)
  })

  test('fail individually, by a rejection or by an internal error without details', async () => {
    const results = await run(rowsOf(20), (row) => {
      if (row.n === 3) throw fail('CONFLICT.code.exists')
      if (row.n === 7) throw new TypeError('SECRET')
      return done(row)
    })
    expect(results.filter(({ error }) => error).map(({ index, status }) => [index, status])).toEqual([
      [3, 409],
      [7, 500],
    ])
    expect(results[7]?.error).toEqual({
      code: 'INTERNAL.unexpected',
      message_id: 'error.internal.unexpected',
      http: 500,
      retryable: false,
      details: {},
    })
    expect(faults.map(({ code, cause }) => [code, cause])).toEqual([
      ['INTERNAL.unexpected', new TypeError('SECRET')],
    ])
  })

  test('after a retryable failure do not start, and the batch resumes with them', async () => {
    const rows = rowsOf(100)
    const begun: number[] = []
    const failing = run(rows, async (row) => {
      begun.push(row.n)
      if (row.n === 40) throw fail('DEPENDENCY.unavailable')
      return done(row)
    })
    await expect(failing).rejects.toMatchObject({ code: 'DEPENDENCY.unavailable' })
    expect(begun.length).toBeLessThan(60)
    const again: number[] = []
    const results = await run(rows, (row) => {
      again.push(row.n)
      return done(row)
    })
    expect(again).toContain(40)
    expect(again.length + begun.length).toBe(rows.length + 1)
    expect(results.map(({ id: of }) => of)).toEqual(rows.map(({ n }) => `id-${n}`))
  })

  test('that fail because an earlier run completes them in the meantime are done', async () => {
    const results = await run(rowsOf(1), async (row) => {
      await mark([row], 1)
      throw fail('CONFLICT.etag.mismatch')
    })
    expect(results).toEqual([{ index: 0, status: 201, id: '0-' }])
  })

  test('take effect once if two runs decide them at the same time', async () => {
    const bothDecided = Promise.withResolvers<void>()
    let decided = 0
    const runAs = (id: string) =>
      run(rowsOf(1), async () => {
        decided += 1
        if (decided === 2) bothDecided.resolve()
        await bothDecided.promise
        return { status: 201, id }
      })
    const [one, other] = await Promise.all([runAs('one'), runAs('other')])
    expect(other).toEqual(one)
  })

  test('expire no earlier than the record of their batch if idempotency.lifetimeHours is lowered', async () => {
    const { decide, saga } = bulkSaga<null, string>({
      rowsOf: () => ['a'],
      keyOf: (row) => row,
      decide: async (id) => ({ status: 200, id }),
      deniedAction: () => ({ action: 'import', area: 'codes' }),
    })
    const hours = (count: number) => ({ ...service.settings, 'idempotency.lifetimeHours': count })
    const { state } = decide(
      { body: null } as never,
      { newId: () => id, settings: hours(72), scope: {} } as never,
    )
    const startedAt = Date.now() / 1000
    const resumed = saga({ ...context, settings: hours(24) } as never)
    await resumed.execute({ ...state, ...resumed.recorded?.(state) })
    const range = { partition: `batch#${id}`, low: '0', high: 'g', descending: false, limit: 2 }
    const { items } = await service.table.readRange(range)
    expect(items).toHaveLength(1)
    expect(Number(items[0]?.expires_at)).toBeGreaterThanOrEqual(Math.floor(startedAt + 72 * 3600))
  })

  test('are none for an empty batch', async () => {
    expect(await run([], never)).toEqual([])
  })
})
