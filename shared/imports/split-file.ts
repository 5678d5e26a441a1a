import { fail } from '../platform/base/failure.ts'
import { maxRowBytes, type RowRange, readHeader, rowScanner } from '../platform/formats/csv-reader.ts'
import type { Settings } from '../settings/register.ts'

/** A chunk of a file: whole rows, with no blank row at its start or end. */
export interface Chunk {
  /** Starts at 0. */
  index: number
  /** Byte offsets: `from` is inclusive, `to` exclusive. */
  from: number
  to: number
  /** The number of its first row. Rows are counted from 1, without the header. */
  row: number
  rows: number
}

/** A chunk ends with the row that reaches one of the two sizes. */
interface ChunkSize {
  rows: number
  bytes: number
}

/** The limits of a file. */
export interface FileLimits {
  chunk: ChunkSize
  maxRows: number
  /** A quote that no other one closes within this length is never closed. */
  rowBytes: number
}

/**
 * An import has at most 2,000 chunks: 1,600 that have all their rows, 399 that have all their bytes, and the last one.
 * So the list of chunks and the results of a Distributed Map stay below 256 KB, the limit of a state.
 */
const fullChunks = { rows: 1600, bytes: 399 }

/** The size of a chunk if the largest file permits it. Smaller chunks cost more calls and writes for each row. */
export const smallestChunk: ChunkSize = { rows: 50, bytes: 64 * 1024 }

export function fileLimits(settings: Settings, smallest: ChunkSize = smallestChunk): FileLimits {
  const maxRows = settings['imports.maxRows']
  const { inline, fileUrl } = settings['imports.maxBytes']
  const chunk = {
    rows: Math.max(smallest.rows, Math.ceil(maxRows / fullChunks.rows)),
    bytes: Math.max(smallest.bytes, Math.ceil(Math.max(inline, fileUrl) / fullChunks.bytes)),
  }
  return { chunk, maxRows, rowBytes: maxRowBytes }
}

/** The required columns, and the further columns that a file may have. */
interface Columns {
  required: readonly string[]
  optional: readonly string[]
}

interface SplitFile {
  /** In file order. */
  columns: string[]
  chunks: Chunk[]
}

/**
 * Splits a file into chunks while its bytes arrive. Memory holds the header, the offsets of the chunks and one open cell,
 * whatever the size.
 * @throws VALIDATION.body.encoding, VALIDATION.csv.header, VALIDATION.csv.too_many_rows, VALIDATION.csv.malformed and
 * VALIDATION.csv.row_too_long of the header
 */
export async function splitFile(
  file: AsyncIterable<Uint8Array>,
  shape: Columns,
  { chunk: size, maxRows, rowBytes }: FileLimits,
): Promise<SplitFile> {
  const scanner = rowScanner(rowBytes)
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  const chunks: Chunk[] = []
  let columns: string[] | undefined
  /** The bytes up to the end of the header, which is the first row that is not blank. */
  let beginning: Buffer = Buffer.alloc(0)
  let open: Chunk | undefined
  let rows = 0

  function add({ from, textTo, to, blank }: RowRange): void {
    if (blank) {
      if (open && to - open.from >= size.bytes) open = undefined
      return
    }
    if (!columns) {
      columns = readHeader(beginning.toString('utf8', from, textTo), shape)
      beginning = Buffer.alloc(0)
      return
    }
    rows += 1
    if (rows > maxRows) throw fail('VALIDATION.csv.too_many_rows', { details: { max: maxRows } })
    if (!open) {
      open = { index: chunks.length, from, to, row: rows, rows: 0 }
      chunks.push(open)
    }
    open.to = to
    open.rows += 1
    if (open.rows >= size.rows || open.to - open.from >= size.bytes) open = undefined
  }

  for await (const bytes of file) {
    checkUtf8(() => utf8.decode(bytes, { stream: true }))
    if (!columns) beginning = Buffer.concat([beginning, bytes])
    for (const row of scanner.scan(bytes)) add(row)
    if (beginning.length > rowBytes) throw fail('VALIDATION.csv.row_too_long', { details: { row: 0 } })
  }
  checkUtf8(() => utf8.decode())
  for (const row of scanner.end()) add(row)
  // The error for an empty file names the missing columns.
  return { columns: columns ?? readHeader('', shape), chunks }
}

function checkUtf8(decode: () => string): void {
  try {
    decode()
  } catch {
    throw fail('VALIDATION.body.encoding')
  }
}
