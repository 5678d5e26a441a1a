import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { type Chunk, type FileLimits, fileLimits, splitFile } from '#shared/imports/split-file.ts'
import { linesOf, readLines, streamRows } from '#shared/platform/formats/csv-reader.ts'
import { largestMaxRows } from '#shared/settings/register/workflows.ts'
import { runs } from '#test/support/runs.ts'
import { localSettings } from '#test/support/settings.ts'
import { anyText } from '../formats/any-text.ts'

const shape = { required: ['email'], optional: ['name'] }
const generous = { rows: 1000, bytes: 1e9, rowBytes: 1e9, maxRows: 1e9 }

async function* inPieces(bytes: Buffer, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function split(file: string | Buffer, size: Partial<typeof generous> = {}, pieces = 1e6) {
  const bytes = Buffer.from(file as string)
  const { rows, bytes: chunkBytes, rowBytes, maxRows } = { ...generous, ...size }
  const limits: FileLimits = { chunk: { rows, bytes: chunkBytes }, rowBytes, maxRows }
  const { columns, chunks } = await splitFile(inPieces(bytes, pieces), shape, limits)
  return { bytes, columns, chunks, rows: chunks.reduce((sum, chunk) => sum + chunk.rows, 0) }
}

describe('the chunks of a file', () => {
  const quotes = fc.constantFrom('"', '"a', 'a,"b', '"a"', '"a\nb"', '"",""', '""a', 'a"')
  const body = fc.array(fc.oneof(anyText, quotes), { maxLength: 30 }).map((parts) => parts.join('\n'))

  test('partition the file after its header, and have the rows of the entire file', async () => {
    await fc.assert(
      fc.asyncProperty(
        body,
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 9 }),
        fc.oneof(fc.integer({ min: 20, max: 60 }), fc.constant(generous.rowBytes)),
        async (rows, perChunk, bytesPerChunk, pieces, rowBytes) => {
          const text = `email,name\n${rows}`
          const size = { rows: perChunk, bytes: bytesPerChunk, rowBytes }
          const file = await split(text, size, pieces)
          const { bytes, chunks } = file
          const whole = linesOf(bytes, rowBytes).slice(1)
          const rowsOf = ({ from, to }: Chunk) => linesOf(bytes.subarray(from, to), rowBytes)
          const apart = chunks.flatMap(rowsOf)
          expect(apart).toEqual(whole)
          expect([file.columns, file.rows]).toEqual([['email', 'name'], whole.length])
          let next = 1
          for (const [index, chunk] of chunks.entries()) {
            expect(chunk).toMatchObject({ index, row: next })
            const before = chunks[index - 1]
            // Only blank rows are between chunks.
            if (before) expect(bytes.toString('utf8', before.to, chunk.from)).toMatch(/^[,\r\n]*$/)
            expect(chunk.rows).toBeLessThanOrEqual(perChunk)
            next += chunk.rows
          }
          const read = chunks.flatMap((chunk) => readLines(rowsOf(chunk), file.columns, chunk.row))
          expect(read).toEqual(readLines(whole, file.columns, 1))
        },
      ),
      runs(1000),
    )
  })

  test('have the rows of the file, read as their bytes arrive, except for those that are too long', async () => {
    await fc.assert(
      fc.asyncProperty(
        body,
        fc.integer({ min: 1, max: 9 }),
        fc.oneof(fc.integer({ min: 1, max: 60 }), fc.constant(generous.rowBytes)),
        async (rows, pieces, rowBytes) => {
          const bytes = Buffer.from(rows)
          const expected = linesOf(bytes, rowBytes).map((line) =>
            Buffer.byteLength(line) > rowBytes ? undefined : line,
          )
          const read: (string | undefined)[] = []
          for await (const { text } of streamRows(inPieces(bytes, pieces), rowBytes)) read.push(text)
          expect(read).toEqual(expected)
        },
      ),
      runs(1000),
    )
  })

  test.each([1, 499, 500, 501, 1000])(
    'have every row of the file if a quote in row %d is never closed',
    async (row) => {
      const lines = Array.from({ length: 1200 }, (_, n) => `user${n}@example.com,"Jones, ${n}"`)
      lines[row - 1] = `user${row}@example.com,"Jones`
      const rowBytes = fileLimits(localSettings).rowBytes
      const text = `email,name\n${lines.join('\n')}\n`
      const { bytes, chunks, columns, rows: total } = await split(text, { rows: 500, rowBytes }, 1000)
      expect([total, chunks.map(({ rows }) => rows)]).toEqual([1200, [500, 500, 200]])
      const read = chunks.flatMap(({ from, to, row: first }) =>
        readLines(linesOf(bytes.subarray(from, to), rowBytes), columns, first),
      )
      expect(read.filter(({ problem }) => problem).map((bad) => bad.row)).toEqual([row])
    },
  )

  test('are no longer than their limit and one row, however many blank rows the file has', async () => {
    const blanks = '\n'.repeat(1000)
    const { chunks, rows } = await split(`email\na\n${blanks}b\n${blanks}`, { bytes: 100 })
    for (const { from, to } of chunks) expect(to - from).toBeLessThanOrEqual(102)
    expect(rows).toBe(2)
  })

  test('end with the row that reaches one of their sizes', async () => {
    const { chunks } = await split(`email\na\nb\n${'c'.repeat(100)}\nd\ne\nf\ng\n`, { rows: 3, bytes: 50 })
    expect(chunks.map(({ row, rows }) => [row, rows])).toEqual([
      [1, 3],
      [4, 3],
      [7, 1],
    ])
  })

  const many = { inline: 1000, fileUrl: 200_000 }
  const few = { ...localSettings, 'imports.maxBytes': many, 'imports.maxRows': 20_000 }
  const files: [string, string][] = [
    ['the shortest rows', 'a\n'.repeat(20_000)],
    ['long rows', `${'a'.repeat(600)}\n`.repeat(330)],
    ['short rows, then long ones', 'a\n'.repeat(19_000) + `${'a'.repeat(600)}\n`.repeat(200)],
    ['blank rows between all others', `a${'\n'.repeat(100)}`.repeat(1900)],
    ['one row that is as long as all of it', `a\n${'a'.repeat(190_000)}\na\n`],
  ]

  test.each(files)('are at most 2,000 in a file of %s, and their list is below 256 KB', async (_, body) => {
    const { chunk, ...limits } = fileLimits(few, { rows: 1, bytes: 1 })
    const { chunks } = await split(`email\n${body}`, { ...chunk, ...limits })
    expect(chunks.length).toBeLessThanOrEqual(2000)
    // The numbers of the largest file have up to seven digits more.
    expect(JSON.stringify(chunks).length + chunks.length * 3 * 7).toBeLessThan(256 * 1024)
  })

  test('would be at most 2,000 in the largest file of the profile', () => {
    const { chunk, maxRows } = fileLimits(localSettings)
    const { fileUrl } = localSettings['imports.maxBytes']
    const full = Math.floor(maxRows / chunk.rows) + Math.floor(fileUrl / chunk.bytes)
    expect(full).toBeLessThan(2000)
  })

  test('are not too small where the largest file is small', () => {
    const { chunk } = fileLimits({ ...few, 'imports.maxRows': 100 })
    expect(chunk).toEqual({ rows: 50, bytes: 64 * 1024 })
  })

  test('of the largest file that a profile permits have so few rows that their rejects fit in an item', () => {
    const { chunk } = fileLimits({ ...localSettings, 'imports.maxRows': largestMaxRows })
    const longest = {
      row: largestMaxRows,
      code: 'VALIDATION.datetime.timezone_required',
      field: 'created_at',
    }
    // The size of an item is that of its names and values, and a few bytes for each (DynamoDB).
    const bytes = JSON.stringify(longest).length
    expect(chunk.rows * bytes).toBeLessThan(400 * 1024)
  })
})

describe('a file is rejected as a whole', () => {
  test.each<[string, Buffer, string]>([
    ['if it is empty', Buffer.alloc(0), 'VALIDATION.csv.header'],
    ['if it has only blank lines', Buffer.from('\n\r\n'), 'VALIDATION.csv.header'],
    ['without the required column', Buffer.from('name\nAnn\n'), 'VALIDATION.csv.header'],
    ['with a malformed header', Buffer.from('"email"x,name\n'), 'VALIDATION.csv.malformed'],
    ['with an overlong header', Buffer.from(`"${'x'.repeat(2000)}`), 'VALIDATION.csv.row_too_long'],
    ['with an unclosed header', Buffer.from('"email,name\na@example.com,Ann\n'), 'VALIDATION.csv.malformed'],
    [
      'with an unclosed header of a large file',
      Buffer.from(`"email\n${'a@example.com\n'.repeat(200)}`),
      'VALIDATION.csv.malformed',
    ],
    [
      'if it is not UTF-8',
      Buffer.from('email\nj\xfcrgen@example.com\n', 'latin1'),
      'VALIDATION.body.encoding',
    ],
    ['if it ends within a character', Buffer.from('email\n\xc3', 'latin1'), 'VALIDATION.body.encoding'],
  ])('%s', async (_, file, code) => {
    for (const pieces of [1, 3, 1000]) {
      await expect(split(file, { rowBytes: 1000 }, pieces)).rejects.toMatchObject({ code })
    }
  })
})
