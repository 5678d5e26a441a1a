import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { chunkRows } from '#shared/imports/chunk-rows.ts'
import type { Chunk } from '#shared/imports/import-files.ts'
import { type FileLimits, fileLimits, type SplitFile, splitFile } from '#shared/imports/split-file.ts'
import { linesOf, readLines } from '#shared/platform/formats/csv-reader.ts'
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
  const chunks: Chunk[] = []
  const { rows, bytes: chunkBytes, rowBytes, maxRows } = { ...generous, ...size }
  const limits: FileLimits = { chunk: { rows, bytes: chunkBytes }, rowBytes, maxRows }
  const splitting = splitFile(inPieces(bytes, pieces), shape, limits)
  for (;;) {
    const { done, value } = await splitting.next()
    if (done) return { bytes, chunks, file: value as SplitFile }
    chunks.push(value as Chunk)
  }
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
          const { bytes, chunks, file } = await split(text, size, pieces)
          const whole = linesOf(bytes, rowBytes).slice(1)
          const rowsOf = ({ from, to }: Chunk) => linesOf(bytes.subarray(from, to), rowBytes)
          const apart = chunks.flatMap(rowsOf)
          expect(apart).toEqual(whole)
          expect(file).toEqual({ columns: ['email', 'name'], chunks: chunks.length, rows: whole.length })
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
          for await (const { text } of chunkRows(inPieces(bytes, pieces), rowBytes)) read.push(text)
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
      const { bytes, chunks, file } = await split(text, { rows: 500, rowBytes }, 1000)
      expect([file.rows, chunks.map(({ rows }) => rows)]).toEqual([1200, [500, 500, 200]])
      const read = chunks.flatMap(({ from, to, row: first }) =>
        readLines(linesOf(bytes.subarray(from, to), rowBytes), file.columns, first),
      )
      expect(read.filter(({ problem }) => problem).map((bad) => bad.row)).toEqual([row])
    },
  )

  test('are no longer than their limit and one row, however many blank rows the file has', async () => {
    const blanks = '\n'.repeat(1000)
    const { chunks, file } = await split(`email\na\n${blanks}b\n${blanks}`, { bytes: 100 })
    for (const { from, to } of chunks) expect(to - from).toBeLessThanOrEqual(102)
    expect(file.rows).toBe(2)
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

  test.each(files)('are at most 2,000 in a file of %s, and their list is below 256 KB', async (_, rows) => {
    const { chunk, ...limits } = fileLimits(few, { rows: 1, bytes: 1 })
    const { chunks, file } = await split(`email\n${rows}`, { ...chunk, ...limits })
    expect(file.chunks).toBeLessThanOrEqual(2000)
    // The numbers of the largest file have up to seven digits more.
    expect(JSON.stringify(chunks).length + file.chunks * 3 * 7).toBeLessThan(256 * 1024)
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

  test('are found while the file is read, of which two pieces at most are in advance', async () => {
    const line = Buffer.from('someone@example.com,Some One\n')
    const piece = Buffer.concat(Array.from({ length: 1000 }, () => line))
    let produced = 0
    async function* file() {
      yield Buffer.from('email,name\n')
      for (let thousand = 0; thousand < 50; thousand += 1) {
        produced += piece.length
        yield piece
      }
    }
    let chunks = 0
    const limits = { ...fileLimits(localSettings), chunk: { rows: 500, bytes: 1e6 } }
    for await (const { rows, to } of splitFile(file(), shape, limits)) {
      chunks += 1
      expect(rows).toBe(500)
      expect(produced - to).toBeLessThanOrEqual(2 * piece.length)
    }
    expect(chunks).toBe(100)
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
