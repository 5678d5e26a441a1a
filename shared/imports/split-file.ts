import { fail } from '../platform/base/failure.ts'
import { maxRowBytes, type RowRange, readHeader, rowScanner } from '../platform/formats/csv-reader.ts'
import type { Chunk } from './import-files.ts'

/** The size limit of a chunk. A function holds one chunk in memory. */
export interface ChunkSize {
  rows: number
  bytes: number
  /** Longer rows are not read, and a quote that no other one closes within this length is never closed. */
  rowBytes: number
}

export const chunkSize: ChunkSize = { rows: 500, bytes: 1024 * 1024, rowBytes: maxRowBytes }

/** The required columns, and the further columns that a file may have. */
interface Columns {
  required: readonly string[]
  ignored: readonly string[]
}

export interface SplitFile {
  /** In file order. */
  columns: string[]
  chunks: number
  rows: number
}

/**
 * Splits a file into chunks while its bytes arrive. Memory holds one header, one chunk's offsets and one open cell,
 * whatever the size.
 * @throws VALIDATION.body.encoding, VALIDATION.csv.header, VALIDATION.csv.malformed and VALIDATION.csv.row_too_long of
 * the header
 */
export async function* splitFile(
  file: AsyncIterable<Uint8Array>,
  shape: Columns,
  size: ChunkSize = chunkSize,
): AsyncGenerator<Chunk, SplitFile> {
  const scanner = rowScanner(size.rowBytes)
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let columns: string[] | undefined
  /** The bytes up to the end of the header, which is the first row that is not blank. */
  let beginning: Buffer = Buffer.alloc(0)
  let open: Chunk | undefined
  let chunks = 0
  let rows = 0

  function* add({ from, textTo, to }: RowRange): Generator<Chunk> {
    if (from === textTo) {
      if (open && to - open.from >= size.bytes) yield* close(open)
      return
    }
    if (!columns) {
      columns = readHeader(beginning.toString('utf8', from, textTo), shape)
      beginning = Buffer.alloc(0)
      return
    }
    rows += 1
    const tooLong = textTo - from > size.rowBytes
    if (open && tooLong) yield* close(open)
    if (open) {
      open.to = to
      open.rows += 1
    } else {
      open = { index: chunks, from, to, row: rows, rows: 1, ...(tooLong && { too_long: true }) }
      chunks += 1
    }
    if (tooLong || open.rows >= size.rows || open.to - open.from >= size.bytes) yield* close(open)
  }

  function* close(chunk: Chunk): Generator<Chunk> {
    yield chunk
    open = undefined
  }

  for await (const bytes of file) {
    checkUtf8(() => utf8.decode(bytes, { stream: true }))
    if (!columns) beginning = Buffer.concat([beginning, bytes])
    for (const row of scanner.scan(bytes)) yield* add(row)
    if (beginning.length > size.rowBytes) throw fail('VALIDATION.csv.row_too_long', { details: { row: 0 } })
  }
  checkUtf8(() => utf8.decode())
  for (const row of scanner.end()) yield* add(row)
  if (open) yield* close(open)
  // The error for an empty file names the missing columns.
  return { columns: columns ?? readHeader('', shape), chunks, rows }
}

function checkUtf8(decode: () => string): void {
  try {
    decode()
  } catch {
    throw fail('VALIDATION.body.encoding')
  }
}
