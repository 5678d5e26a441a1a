import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { searchActivity, searchLogs } from '#bin/commands/ask/search-logs.ts'
import type { Logs } from '#bin/commands/stack/log-query.ts'
import { scratchFolder } from '#test/infrastructure/scratch-folder.ts'

const at = Date.parse('2026-03-01T12:00:00Z')
const time = { from: at - 1000, to: at + 1000, limit: 10 }

/** Returns logs that ignore every filter, as the local engine does with most of them. */
function logsOf(lines: object[], { groups = ['commerce-test-orders'] }: { groups?: string[] } = {}) {
  const queries: { query: string; groups: readonly string[] | undefined }[] = []
  const logs: Logs = {
    async query(query, options) {
      queries.push({ query, groups: options.groups })
      return lines.map((line) => ({
        '@timestamp': '2026-03-01 12:00:00.000',
        '@message': JSON.stringify(line),
      }))
    },
  }
  return { logs, queries, search: searchLogs(async () => groups, logs) }
}

describe('a search of logs', () => {
  test('filters again what comes back: a member has the whole text as its value', async () => {
    const { search } = logsOf([{ correlation_id: 'c1' }, { correlation_id: 'c12' }, { note: 'about c1' }])
    const { lines } = await search({ ...time, anyOf: ['c1'] })
    expect(lines.map(({ fields }) => fields)).toEqual([{ correlation_id: 'c1' }])
  })

  test('leaves out lines of another time, which a query by seconds includes', async () => {
    const { search } = logsOf([
      { correlation_id: 'c1', timestamp: '2026-03-01T12:00:00.500Z' },
      { correlation_id: 'c1', timestamp: '2026-03-01T12:00:01.000Z' },
    ])
    expect((await search({ ...time, anyOf: ['c1'] })).lines).toHaveLength(1)
  })

  test('asks for lines that hold the text, whatever characters it has', async () => {
    const { queries, search } = logsOf([])
    await search({ ...time, anyOf: ['a/b.c', 'k_1'] })
    expect(queries[0]?.query).toContain('filter @message like /(a\\/b\\.c|k_1)/')
  })

  test('asks for the text as the JSON of a line has it', async () => {
    const { queries, search } = logsOf([{ cart: 'a"b' }])
    const { lines } = await search({ ...time, anyOf: ['a"b'] })
    // A backslash and a quote, each escaped.
    expect(queries[0]?.query).toContain('like /(a\\\\\\"b)/')
    expect(lines).toHaveLength(1)
  })

  test.each([
    ['many long texts', Array.from({ length: 40 }, (_, n) => `${n}-${'-'.repeat(300)}`)],
    ['one text of any length', ['\u0001'.repeat(20_000)]],
  ])('asks no query that is longer than AWS takes for %s', async (_, anyOf) => {
    const { queries, search } = logsOf([{ correlation_id: anyOf.at(-1) }])
    const { calls, lines } = await search({ ...time, limit: 100, anyOf })
    expect(Math.max(...queries.map(({ query }) => query.length))).toBeLessThan(8000)
    expect([calls, lines.length > 0]).toEqual([queries.length, true])
    const starts = anyOf.map((text) => (/^\d+/.exec(text) ?? [''])[0])
    const all = queries.map(({ query }) => query).join()
    expect(starts.filter((start) => !all.includes(start))).toEqual([])
  })

  test('asks as many groups at once as a query may name', async () => {
    const groups = Array.from({ length: 70 }, (_, n) => `commerce-test-${n}`)
    const { queries, search } = logsOf([{ correlation_id: 'c1' }], { groups })
    const { calls } = await search({ ...time, anyOf: ['c1'] })
    expect(queries.map((one) => one.groups?.length)).toEqual([50, 20])
    expect(calls).toBe(2)
  })

  test('says that it is a sample if there are more lines than it returns', async () => {
    const { search } = logsOf([{ correlation_id: 'c1' }, { correlation_id: 'c1' }])
    expect(await search({ ...time, limit: 2, anyOf: ['c1'] })).toMatchObject({ complete: false })
    expect(await search({ ...time, limit: 3, anyOf: ['c1'] })).toMatchObject({ complete: true })
  })

  test('skips lines that are no records of the service', async () => {
    const logs: Logs = {
      query: async () => [{ '@timestamp': '2026-03-01 12:00:00.000', '@message': 'START c1' }],
    }
    expect((await searchLogs(async () => ['orders'], logs)({ ...time, anyOf: ['c1'] })).lines).toEqual([])
  })
})

test('a search on the local run reads the lines that its AWS writes to a file', async () => {
  const file = join(scratchFolder(), 'activity.jsonl')
  const entries = [
    { kind: 'request', at, correlation_id: 'c1' },
    ...['c1', 'c2'].map((correlation_id) => ({ kind: 'log', at, line: JSON.stringify({ correlation_id }) })),
    { kind: 'log', at, line: 'START c1' },
  ]
  // As Python writes it: with a space after each colon.
  const text = entries.map((entry) => JSON.stringify(entry).replace('"kind":', '"kind": ')).join('\n')
  await writeFile(file, `${text}\n{"kind": "log", "at": 1`)
  const { lines } = await searchActivity(file)({ ...time, anyOf: ['c1'] })
  expect(lines.map(({ fields }) => fields)).toEqual([{ correlation_id: 'c1' }])
})
