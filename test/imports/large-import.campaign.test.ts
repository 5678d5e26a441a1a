import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { localSettings } from '#test/support/settings.ts'
import { badRows, type LargeImports, type LargeRun, startLargeImports } from './large-import.ts'

/**
 * As many chunks and bytes as a million rows have, in fewer and longer rows: DynamoDB Local takes minutes for a million.
 * `npm run import:million` imports them.
 */
const rows = 80_000
const rowsOfChunk = 50
const rowBytes = 1200
const chunksBeforeCancel = 80
const settings = {
  ...localSettings,
  'imports.maxRows': rows,
  // As fast as DynamoDB Local takes them.
  'imports.writeUnitsPerSecond': 1_000_000,
}
const hangsAfter = 3_600_000

let imports: LargeImports
let canceled: LargeRun
let large: LargeRun

beforeAll(async () => {
  imports = await startLargeImports(settings)
  let asked: Promise<void> | undefined
  canceled = await imports.run(
    { tenant: 'canceled', rows: rows / 10, rowBytes },
    async (chunk, { cancel }) => {
      if (chunk.index < chunksBeforeCancel) return
      asked ??= cancel()
      await asked
    },
  )
  const repeated: Promise<unknown>[] = []
  large = await imports.run({ tenant: 'large', rows, rowBytes }, async ({ index }, { runTwice }) => {
    if (index % 100 === 0) await runTwice()
    if (index % 100 === 50) repeated.push(runTwice())
  })
  await Promise.all(repeated)
}, hangsAfter)
afterAll(() => imports?.stop())

describe('an import of a file of 96 MB, of which some chunks run twice, one after the other or concurrently', () => {
  test('succeeds', () => {
    expect([large.run.status, large.operation.state]).toEqual(['succeeded', 'succeeded'])
  })

  test('has 1,600 chunks', () => {
    expect(large.operation.chunks_total).toBe(rows / rowsOfChunk)
  })

  test('counts each row once', () => {
    const failed = badRows(rows)
    expect(large.operation.result?.counts).toEqual({ total: rows, succeeded: rows - failed, failed })
  })

  test('stores each customer once', () => {
    expect(large.customers).toBe(rows - badRows(rows))
  })

  test.each(['prepare', 'rows', 'end'] as const)(
    'needs hardly more memory in the step %s than one of a tenth of its size',
    (step) => {
      const grown = large.peakMegabytes[step] - canceled.peakMegabytes[step]
      expect(grown).toBeLessThan(large.fileMegabytes / 4)
    },
  )
})

describe('an import that is canceled while its chunks run', () => {
  test('ends as canceled', () => {
    expect(canceled.operation.state).toBe('canceled')
  })

  test('has done the chunks that began before, and no other', () => {
    expect(canceled.operation.chunks_done).toBe(chunksBeforeCancel)
  })

  test('counts the rows of these chunks', () => {
    const counted = chunksBeforeCancel * rowsOfChunk
    const failed = badRows(counted)
    expect(canceled.operation.result?.counts).toEqual({
      total: counted,
      succeeded: counted - failed,
      failed,
    })
  })

  test('has stored the customers that it counts', () => {
    expect(canceled.customers).toBe(canceled.operation.result?.counts.succeeded)
  })
})
