import { CsvError, parse } from 'csv-parse/sync'
import type { ErrorCode } from '../../error-catalog.ts'
import { fail } from '../base/failure.ts'
import { bareCell } from './csv-writer.ts'

/** The byte offsets of one row of a file: `from` is inclusive, `textTo` and `to` are exclusive. */
export interface RowRange {
  from: number
  /** The end of the row without its line break. */
  textTo: number
  /** The start of the next row. */
  to: number
  /** True for a row that is empty or has only commas, as spreadsheets write rows without cells. */
  blank: boolean
}

/**
 * The length of the longest row that is read, in bytes. A quote that no other one closes within this length of its row
 * is never closed.
 */
export const maxRowBytes = 256 * 1024

/** The rest of a line after a quote that is never closed is `unclosed`: quotes and commas have no meaning there. */
type Field = 'begins' | 'plain' | 'quoted' | 'quote_in_quotes' | 'unclosed'

const quote = 0x22
const comma = 0x2c
const lineFeed = 0x0a
const carriageReturn = 0x0d
const noBytes = new Uint8Array()

/**
 * Finds the row ends of a CSV file as its bytes arrive. A row ends with CRLF, LF or CR outside quotes (RFC 4180). Blank
 * rows are returned, too.
 *
 * A quoted cell ends with a quote before a comma, a line break or the end of the file. If the next quote that is not
 * doubled is elsewhere or too far away, the cell is never closed. Its row then ends with the line of its first quote, and
 * the next line is a new row. Where a row ends depends on nothing before it. So the rows of a chunk are those of the
 * file, if it starts and ends with a row.
 *
 * The bytes of an open cell are kept, because they are scanned again if it is never closed. All quotes among them are
 * doubled and open no cell that goes on behind them: the time is linear in the length of the file.
 */
export function rowScanner(maxBytes: number = maxRowBytes) {
  let at = 0
  let from = 0
  let blank = true
  let field: Field = 'begins'
  let afterReturn = false
  /** The position after the first quote of the open cell. */
  let cellFrom = 0
  /** The bytes of the open cell, from `cellFrom` to `at`. */
  let kept: Uint8Array = noBytes

  function endRow(textTo: number, to: number): RowRange {
    const row = { from, textTo, to, blank }
    from = to
    blank = true
    field = 'begins'
    return row
  }

  function leaveUnclosed(): void {
    at = cellFrom
    field = 'unclosed'
  }

  /** @param bytes the next bytes of the file. @returns the rows that end within them */
  function scan(bytes: Uint8Array): RowRange[] {
    const rows: RowRange[] = []
    const buffer = kept.length === 0 ? bytes : Buffer.concat([kept, bytes])
    const base = at - kept.length
    const end = base + buffer.length
    while (at < end) {
      if (field === 'quoted') {
        const next = buffer.indexOf(quote, at - base)
        const limit = from + maxBytes
        at = Math.min(next < 0 ? end : base + next, limit)
        if (at === limit) leaveUnclosed()
        else if (at < end) {
          field = 'quote_in_quotes'
          at += 1
        }
        continue
      }
      if (field === 'plain' || field === 'unclosed') {
        while (at < end && !isSeparator(buffer[at - base] as number)) at += 1
        if (at === end) break
      }
      const byte = buffer[at - base] as number
      const paired = afterReturn && byte === lineFeed
      if (afterReturn) rows.push(endRow(at - 1, paired ? at + 1 : at))
      if (field === 'quote_in_quotes' && byte !== quote && !isSeparator(byte)) {
        leaveUnclosed()
        continue
      }
      afterReturn = byte === carriageReturn
      if (byte === lineFeed && !paired) rows.push(endRow(at, at + 1))
      if (!isSeparator(byte)) blank = false
      if (byte === quote && field === 'begins') cellFrom = at + 1
      field = fieldAfter(field, byte)
      at += 1
    }
    const isOpen = field === 'quoted' || field === 'quote_in_quotes'
    kept = isOpen ? buffer.subarray(cellFrom - base) : noBytes
    return rows
  }

  /** @returns the last rows, which `scan` has not returned */
  function end(): RowRange[] {
    let rows: RowRange[] = []
    while (field === 'quoted') {
      const rest = kept
      kept = noBytes
      leaveUnclosed()
      rows = rows.concat(scan(rest))
    }
    if (afterReturn) return [...rows, endRow(at - 1, at)]
    return from < at ? [...rows, endRow(at, at)] : rows
  }

  return { scan, end }
}

function isSeparator(byte: number): boolean {
  return byte === comma || byte === lineFeed || byte === carriageReturn
}

function fieldAfter(field: Field, byte: number): Field {
  if (byte === lineFeed || byte === carriageReturn) return 'begins'
  if (field === 'unclosed') return field
  if (byte === comma) return 'begins'
  return byte === quote && field !== 'plain' ? 'quoted' : 'plain'
}

/** Returns the rows of a file, or of a part that starts and ends with a row, without line breaks and blank rows. */
export function linesOf(bytes: Buffer, rowBytes?: number): string[] {
  const scanner = rowScanner(rowBytes)
  return [...scanner.scan(bytes), ...scanner.end()]
    .filter(({ blank }) => !blank)
    .map(({ from, textTo }) => bytes.toString('utf8', from, textTo))
}

/** A row of a file, without its line break. */
export interface StreamedRow {
  /** Absent if the row is too long to be read. */
  text?: string
  bytes: number
}

/**
 * Yields the rows of a file, or of a part that starts and ends with a row, while its bytes arrive, without blank ones.
 * Memory holds one row of readable length, however long the rows are.
 */
export async function* streamRows(
  file: AsyncIterable<Uint8Array>,
  maxBytes: number = maxRowBytes,
): AsyncGenerator<StreamedRow> {
  const scanner = rowScanner(maxBytes)
  /** The bytes from `at` on, of rows that have not ended yet. */
  let kept: Buffer = Buffer.alloc(0)
  let at = 0

  function* add(rows: readonly RowRange[]): Generator<StreamedRow> {
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

const byteOrderMark = [0xef, 0xbb, 0xbf]

/** Yields a file without its byte order mark. */
export async function* withoutByteOrderMark(file: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let beginning: Buffer | undefined = Buffer.alloc(0)
  for await (const bytes of file) {
    if (!beginning) {
      yield bytes
      continue
    }
    beginning = Buffer.concat([beginning, bytes])
    if (beginning.length < byteOrderMark.length) continue
    yield unmarked(beginning)
    beginning = undefined
  }
  if (beginning) yield unmarked(beginning)
}

function unmarked(bytes: Buffer): Buffer {
  return byteOrderMark.every((byte, index) => bytes[index] === byte)
    ? bytes.subarray(byteOrderMark.length)
    : bytes
}

/** The required and allowed content of a file. Column names are in lower case, without surrounding spaces. */
export interface CsvShape {
  /** Columns that occur exactly once, anywhere in the header. */
  required: readonly string[]
  /** Columns that occur at most once; their cells are returned, too. */
  optional: readonly string[]
  /** The maximum number of data rows, without the header and blank lines. */
  maxRows: number
}

/** The error of a rejected row, with a code of the catalog. */
interface CsvRowProblem {
  code: ErrorCode
  details:
    | { reason: 'too_few' | 'too_many'; expected: number; actual: number }
    | { reason: 'unnamed'; column: number }
    | { reason: 'quotes' }
}

/** A data row, numbered from 1: its cells by column name, or its problem. */
export type CsvRow =
  | { row: number; cells: Readonly<Record<string, string>>; problem?: undefined }
  | { row: number; cells?: undefined; problem: CsvRowProblem }

/** An import stores the columns of its file. Those without a name are not limited by their names. */
const maxColumns = 100

/**
 * Returns the data rows of an RFC 4180 file. Lines may also end in LF or CR alone; blank rows are skipped. A row with
 * bad quotes, with too few or too many cells, or with text in a column without a name, has a problem; any other error
 * fails the whole file.
 * @throws VALIDATION.csv.header, VALIDATION.csv.malformed of the header, VALIDATION.csv.too_many_rows
 */
export function readCsv(text: string, shape: CsvShape): CsvRow[] {
  const [header = '', ...lines] = linesOf(Buffer.from(text.replace(/^\ufeff/, '')))
  // The header is checked first: its error is clearer than the errors that follow from it in the rows.
  const columns = readHeader(header, shape)
  if (lines.length <= shape.maxRows) return readLines(lines, columns, 1)
  throw fail('VALIDATION.csv.too_many_rows', { details: { max: shape.maxRows } })
}

/**
 * Returns the columns of a header. Those without a name, which spreadsheets add, are empty texts.
 * @throws VALIDATION.csv.header, VALIDATION.csv.malformed
 */
export function readHeader(text: string, shape: Pick<CsvShape, 'required' | 'optional'>): string[] {
  const known = new Set([...shape.required, ...shape.optional])
  const [header = []] = recordsOf(text, { bom: true }) ?? refuseMalformed(text, known)
  const columns = header.map(columnName)
  const times = (name: string) => columns.filter((column) => column === name).length
  const missing = shape.required.filter((name) => times(name) === 0)
  const repeated = [...known].filter((name) => times(name) > 1)
  // By number: without a header, the first row is one of personal data.
  const unknown = columns.flatMap((column, index) => (column === '' || known.has(column) ? [] : [index + 1]))
  const problems = missing.length + unknown.length + repeated.length
  if (problems === 0 && columns.length <= maxColumns) return columns
  refuseOtherSeparator(text, known)
  const tooMany = { reason: 'too_many', max: maxColumns, actual: columns.length }
  const details = columns.length > maxColumns ? tooMany : { missing, unknown, repeated }
  throw fail('VALIDATION.csv.header', { details })
}

/** Names the separator of the file if it yields more of the known columns than a comma. */
function refuseOtherSeparator(text: string, known: ReadonlySet<string>): void {
  const [header = ''] = /[^\r\n\ufeff]+/.exec(text) ?? []
  const found = (separator: string) =>
    header.split(separator).filter((cell) => known.has(columnName(cell.trim().replaceAll('"', '')))).length
  const separator = [',', ';', '\t', '|'].reduce((best, other) => (found(other) > found(best) ? other : best))
  if (separator !== ',') throw fail('VALIDATION.csv.header', { details: { reason: 'separator', separator } })
}

function columnName(cell: string): string {
  return bareCell(cell).trim().toLowerCase()
}

/** @throws VALIDATION.csv.malformed, or VALIDATION.csv.header if the file has another separator */
function refuseMalformed(header: string, known: ReadonlySet<string>): never {
  refuseOtherSeparator(header, known)
  throw fail('VALIDATION.csv.malformed', { details: { row: 0 } })
}

/**
 * Returns the data rows of lines that were split at row ends, without blank ones. An error in one affects no other.
 * @param first the number of the first row
 */
export function readLines(lines: readonly string[], columns: readonly string[], first: number): CsvRow[] {
  const together = recordsOf(lines.join('\n'))
  return lines.map((line, index) => {
    const [cells, ...others] =
      together?.length === lines.length ? together.slice(index, index + 1) : (recordsOf(line) ?? [])
    if (cells && others.length === 0) return rowOf(cells, columns, first + index)
    const problem = { code: 'VALIDATION.csv.malformed', details: { reason: 'quotes' } } as const
    return { row: first + index, problem }
  })
}

/** Returns the cells of each row; undefined if any row has bad quotes. The error of the parser would quote the cell. */
function recordsOf(text: string, { bom = false } = {}): string[][] | undefined {
  const delimiters = { record_delimiter: ['\r\n', '\n', '\r'], skip_empty_lines: true }
  try {
    return parse(text, { ...delimiters, relax_column_count: true, bom })
  } catch (error) {
    if (error instanceof CsvError) return undefined
    throw error
  }
}

function rowOf(cells: readonly string[], columns: readonly string[], row: number): CsvRow {
  const [expected, actual] = [columns.length, cells.length]
  if (actual !== expected) {
    const reason = actual < expected ? 'too_few' : 'too_many'
    return { row, problem: { code: 'VALIDATION.csv.columns', details: { reason, expected, actual } } }
  }
  // Without a prototype, only the columns can be read.
  const byColumn: Record<string, string> = Object.create(null)
  for (const [index, column] of columns.entries()) {
    const cell = cells[index] ?? ''
    if (column !== '') byColumn[column] = bareCell(cell)
    else if (cell.trim() !== '') {
      return {
        row,
        problem: { code: 'VALIDATION.csv.columns', details: { reason: 'unnamed', column: index + 1 } },
      }
    }
  }
  return { row, cells: byColumn }
}
