import { describe, expect, test } from '@jest/globals'
import type { Reach } from '#bin/commands/ask/reach.ts'
import { stageSource } from '#bin/console/stage.ts'
import { reachTo } from '#test/operators/reach-to.ts'
import { newTable } from '#test/support/tables.ts'

const at = Date.UTC(2026, 10, 23)
const lineOf = (more: object) => ({
  at,
  fields: {
    ...{
      message: 'request',
      operation: 'orders.read',
      status: 404,
      duration_milliseconds: 5,
      tenant: 'acme',
    },
    ...{ correlation_id: 'c-1', error_code: 'NOT_FOUND.order', ...more },
  },
})

/** Returns a stage whose log has these lines, and the searches of it. */
function stageWith(lines: ReturnType<typeof lineOf>[], complete = true) {
  const searches: { anyOf: readonly string[] }[] = []
  const reach = {
    searchLogs: async (search: { anyOf: readonly string[] }) => {
      searches.push(search)
      return { lines, calls: 2, complete }
    },
  } as unknown as Reach
  return { source: stageSource('commerce-prod', { outputs: {}, access: {} }, reach), searches }
}

describe('the requests of a stage', () => {
  test('are the lines of its log, with the path of the operation', async () => {
    const { source } = stageWith([lineOf({})])
    const { entries, calls, complete } = await source.read({ kind: 'request' })
    expect([calls, complete]).toEqual([2, true])
    expect(entries).toEqual([
      {
        ...{ kind: 'request', id: `c-1@${at}`, at, method: 'GET', path: '/v1/orders/{id}', status: 404 },
        ...{ milliseconds: 5, tenant: 'acme', correlation_id: 'c-1', error_code: 'NOT_FOUND.order' },
        fields: lineOf({}).fields,
      },
    ])
  })

  test('leave out other lines that hold the text', async () => {
    const { source } = stageWith([lineOf({ message: 'job' })])
    expect((await source.read({ kind: 'request', tenant: 'acme' })).entries).toEqual([])
  })

  test('are a sample if the log has more', async () => {
    const { source } = stageWith([lineOf({})], false)
    expect(await source.read({ kind: 'request' })).toMatchObject({ complete: false })
  })

  test('are read of the last hour unless a time is named', async () => {
    const { source, searches } = stageWith([])
    await source.read({ kind: 'request', to: at })
    expect(searches).toEqual([{ from: at - 3_600_000, to: at, anyOf: ['request'], limit: 500 }])
  })

  test.each([
    [{ tenant: 'acme', code: 'NOT_FOUND.order', correlation: 'c-1' }, 'c-1'],
    [{ tenant: 'acme', code: 'NOT_FOUND.order' }, 'NOT_FOUND.order'],
    [{ tenant: 'acme', status: '4xx' }, 'acme'],
  ])('are searched by the rarest text of %j', async (filters, text) => {
    const { source, searches } = stageWith([])
    await source.read({ kind: 'request', ...filters })
    expect(searches[0]?.anyOf).toEqual([text])
  })

  test.each([
    ['tenant', { tenant: 'globex' }],
    ['error code', { code: 'X' }],
    ['class of statuses', { status: '5xx' }],
    ['status', { status: '403' }],
  ])('leave out those of another %s', async (_, filter) => {
    const { source } = stageWith([lineOf({})])
    expect((await source.read({ kind: 'request', ...filter })).entries).toEqual([])
  })
})

test('a stage is asked one question after the other, also after one that fails', async () => {
  let running = 0
  const most: number[] = []
  const reach = {
    async searchLogs() {
      most.push(++running)
      await new Promise((resolve) => setImmediate(resolve))
      running -= 1
      if (most.length === 1) throw new Error('denied')
      return { lines: [], calls: 1, complete: true }
    },
  } as unknown as Reach
  const source = stageSource('commerce-prod', { outputs: {}, access: {} }, reach)
  const answers = await Promise.allSettled([1, 2, 3].map(() => source.read({ kind: 'request' })))
  expect(answers.map((answer) => answer.status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
  expect(most).toEqual([1, 1, 1])
})

test('a stage is not asked what nobody waits for when its turn comes', async () => {
  const first = Promise.withResolvers<void>()
  const searched: string[] = []
  const reach = {
    async searchLogs({ anyOf: [text = ''] }: { anyOf: readonly string[] }) {
      searched.push(text)
      await first.promise
      return { lines: [], calls: 1, complete: true }
    },
  } as unknown as Reach
  const source = stageSource('commerce-prod', { outputs: {}, access: {} }, reach)
  const abandoned = new AbortController()
  const answers = Promise.allSettled([
    source.read({ kind: 'request', code: 'A' }),
    source.read({ kind: 'request', code: 'B' }, abandoned.signal),
    source.find('c-1', { tenant: undefined, from: at, to: at + 1 }, abandoned.signal),
    source.read({ kind: 'request', code: 'C' }),
  ])
  abandoned.abort()
  first.resolve()
  const statuses = (await answers).map(({ status }) => status)
  expect(statuses).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled'])
  expect(searched).toEqual(['A', 'C'])
})

test('a timeline keeps each request of a correlation id', async () => {
  const lines = ['orders.create', 'refunds.create'].map((operation) => lineOf({ operation }))
  const stack = { outputs: {}, access: {} }
  const source = stageSource('commerce-prod', stack, reachTo(await newTable(), { lines }))
  const { entries } = await source.find('c-1', { tenant: undefined, from: at - 1, to: at + 1 })
  expect(entries).toHaveLength(2)
  expect(new Set(entries.map(({ id }) => id)).size).toBe(2)
})
