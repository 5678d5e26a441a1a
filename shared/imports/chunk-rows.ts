import { maxRowBytes, type RowRange, rowScanner } from '../platform/formats/csv-reader.ts'

/** A row of a chunk, without its line break. */
export interface ChunkRow {
  /** Absent if the row is too long to be read. */
  text?: string
  bytes: number
}

/**
 * Yields the rows of a chunk while its bytes arrive, without blank ones. Memory holds one row of readable length, however
 * long the rows are.
 */
export async function* chunkRows(
  file: AsyncIterable<Uint8Array>,
  maxBytes: number = maxRowBytes,
): AsyncGenerator<ChunkRow> {
  const scanner = rowScanner(maxBytes)
  /** The bytes from `at` on, of rows that have not ended yet. */
  let kept: Buffer = Buffer.alloc(0)
  let at = 0

  function* add(rows: readonly RowRange[]): Generator<ChunkRow> {
    for (const { from, textTo, blank } of rows) {
      if (blank) continue
      const bytes = textTo - from
      if (bytes > maxBytes) yield { bytes }
      else yield { bytes, text: kept.toString('utf8', from - at, textTo - at) }
    }
    const end = rows.at(-1)?.to ?? at
    kept = kept.subarray(Math.max(0, end - at))
    at = Math.max(at, end)
  }

  for await (const bytes of file) {
    kept = Buffer.concat([kept, bytes])
    yield* add(scanner.scan(bytes))
    // The scanner looks back within the readable length only, and at one byte after it.
    if (kept.length <= maxBytes + 2) continue
    at += kept.length
    kept = Buffer.alloc(0)
  }
  yield* add(scanner.end())
}
