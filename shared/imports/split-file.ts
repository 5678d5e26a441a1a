import { fail } from '../platform/base/failure.ts'
import { type RowPlace, readHeader, rowScanner } from '../platform/formats/csv-reader.ts'
import type { Chunk } from './import-places.ts'

/** The size limit of a chunk. A function holds one chunk in memory. */
export interface ChunkSize {
  rows: number
  bytes: number
  /** Longer rows are not read. */
  rowBytes: number
}

export const chunkSize: ChunkSize = { rows: 500, bytes: 1024 * 1024, rowBytes: 256 * 1024 }

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
 * Splits a file into chunks while its bytes arrive. Memory holds one header and one chunk's offsets, whatever the
 * size.
 */
export async function* splitFile(
  file: AsyncIterable<Uint8Array>,
  shape: Columns,
  size: ChunkSize = chunkSize,
): AsyncGenerator<Chunk, SplitFile> {
  const scanner = rowScanner()
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  const header = headerReader(shape, size)
  const cutter = chunkCutter(size)
  for await (const bytes of file) {
    checkUtf8(() => utf8.decode(bytes, { stream: true }))
    header.take(bytes)
    for (const row of scanner.scan(bytes)) if (!header.isHeader(row)) yield* cutter.add(row)
    header.checkLength()
  }
  checkUtf8(() => utf8.decode())
  for (const row of scanner.end()) if (!header.isHeader(row)) yield* cutter.add(row)
  yield* cutter.end()
  return { columns: header.columns(), ...cutter.counts() }
}

/** @throws VALIDATION.body.encoding */
function checkUtf8(decode: () => string): void {
  try {
    decode()
  } catch {
    throw fail('VALIDATION.body.encoding')
  }
}

/** Buffers the start of a file until the header (its first row that is not blank) is complete. */
function headerReader(shape: Columns, size: ChunkSize) {
  let beginning: Buffer = Buffer.alloc(0)
  let columns: string[] | undefined

  return {
    take(bytes: Uint8Array): void {
      if (!columns) beginning = Buffer.concat([beginning, bytes])
    },
    /** @throws VALIDATION.csv.header, VALIDATION.csv.malformed */
    isHeader({ from, textTo }: RowPlace): boolean {
      if (columns) return false
      if (from < textTo) {
        columns = readHeader(beginning.subarray(from, textTo).toString('utf8'), shape)
        beginning = Buffer.alloc(0)
      }
      return true
    },
    checkLength(): void {
      if (beginning.length > size.rowBytes) throw fail('VALIDATION.csv.row_too_long', { details: { row: 0 } })
    },
    /** For an empty file, throws the error that names the missing columns. */
    columns: () => columns ?? readHeader('', shape),
  }
}

function chunkCutter(size: ChunkSize) {
  let chunks = 0
  let rows = 0
  let open: Chunk | undefined

  function* close(): Generator<Chunk> {
    if (!open) return
    yield open
    open = undefined
  }

  function place({ from, to }: RowPlace): Chunk {
    const chunk = { index: chunks, from, to, row: rows, rows: 1 }
    chunks += 1
    return chunk
  }

  return {
    *add(row: RowPlace): Generator<Chunk> {
      if (row.from === row.textTo) {
        if (open) open.to = row.to
        return
      }
      rows += 1
      if (row.textTo - row.from > size.rowBytes) {
        yield* close()
        yield { ...place(row), too_long: true }
        return
      }
      if (open) {
        open.to = row.to
        open.rows += 1
      } else open = place(row)
      if (open.rows >= size.rows || open.to - open.from >= size.bytes) yield* close()
    },
    end: close,
    counts: () => ({ chunks, rows }),
  }
}
