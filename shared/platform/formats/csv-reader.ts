import { CsvError, parse } from 'csv-parse/sync'
import type { ErrorCode } from '../../error-catalog.ts'
import { type Failure, fail, shownName } from '../base/failure.ts'
import { bareCell } from './csv-writer.ts'

/** The byte offsets of one row of a file: `from` is inclusive, `textTo` and `to` are exclusive. */
export interface RowPlace {
  from: number
  /** The end of the row without its line break. */
  textTo: number
  /** The start of the next row. */
  to: number
}

const quote = 0x22
const comma = 0x2c
const lineFeed = 0x0a
const carriageReturn = 0x0d

/**
 * Finds the row ends of a CSV file as its bytes arrive, without storing them. A row ends with CRLF, LF or CR outside
 * quotes (RFC 4180). Blank rows are returned, too; they consist of their line break only.
 */
export function rowScanner() {
  let at = 0
  let from = 0
  let field: 'begins' | 'plain' | 'quoted' | 'quote_in_quotes' = 'begins'
  let afterReturn = false

  function endRow(textTo: number, to: number): RowPlace {
    const row = { from, textTo, to }
    from = to
    field = 'begins'
    return row
  }

  return {
    /** @param bytes the next bytes of the file. @returns the rows that end within them */
    scan(bytes: Uint8Array): RowPlace[] {
      const rows: RowPlace[] = []
      for (const byte of bytes) {
        if (afterReturn) {
          afterReturn = false
          const paired = byte === lineFeed
          rows.push(endRow(at - 1, paired ? at + 1 : at))
          if (paired) {
            at += 1
            continue
          }
        }
        if (field === 'quoted') {
          if (byte === quote) field = 'quote_in_quotes'
        } else if (byte === lineFeed) rows.push(endRow(at, at + 1))
        else if (byte === carriageReturn) afterReturn = true
        else field = fieldAfter(field, byte)
        at += 1
      }
      return rows
    },

    /** @returns the last row, unless `scan` has returned it */
    end(): RowPlace[] {
      if (afterReturn) return [endRow(at - 1, at)]
      return from < at ? [endRow(at, at)] : []
    },
  }
}

function fieldAfter(field: 'begins' | 'plain' | 'quote_in_quotes', byte: number) {
  if (byte === comma) return 'begins'
  if (byte === quote && field !== 'plain') return 'quoted'
  return 'plain'
}

/** The required and allowed content of a file. Column names are in lower case, without surrounding spaces. */
export interface CsvShape {
  /** Columns that occur exactly once, anywhere in the header. */
  required: readonly string[]
  /** Columns that occur at most once; their cells are returned, too. */
  ignored: readonly string[]
  /** The maximum number of data rows, without the header and blank lines. */
  maxRows: number
}

/** The error of a rejected row, with a code of the catalogue. */
export interface CsvRowProblem {
  code: ErrorCode
  details: { reason: 'too_few' | 'too_many'; expected: number; actual: number } | { reason: 'quotes' }
}

/** A data row, numbered from 1: its cells by column name, or its problem. */
export type CsvRow =
  | { row: number; cells: Readonly<Record<string, string>>; problem?: undefined }
  | { row: number; cells?: undefined; problem: CsvRowProblem }

const mostShownNames = 20

/**
 * Returns the data rows of an RFC 4180 file. Lines may also end in LF or CR alone; blank lines are skipped.
 * A row with too few or too many cells has a problem; any other error fails the whole file.
 * @throws VALIDATION.csv.header, VALIDATION.csv.malformed, VALIDATION.csv.too_many_rows
 */
export function readCsv(text: string, shape: CsvShape): CsvRow[] {
  // The header is checked first: its error is clearer than the errors that follow from it in the rows.
  const [header = []] = firstRecords(text, 1)
  const columns = columnsOf(header, shape)
  const [, ...rows] = firstRecords(text, shape.maxRows + 2)
  if (rows.length > shape.maxRows) {
    throw fail('VALIDATION.csv.too_many_rows', { details: { max: shape.maxRows } })
  }
  return rows.map((cells, index) => rowOf(cells, columns, index + 1))
}

/**
 * Returns the columns of a header line.
 * @throws VALIDATION.csv.header, VALIDATION.csv.malformed
 */
export function readHeader(line: string, shape: Pick<CsvShape, 'required' | 'ignored'>): string[] {
  const [header = []] = firstRecords(line, 1)
  return columnsOf(header, shape)
}

/**
 * Returns the data rows of lines that were split at row ends, without blank ones. An error in one affects no other.
 * @param first the number of the first row
 */
export function readLines(lines: readonly string[], columns: readonly string[], first: number): CsvRow[] {
  const together = recordsOf(lines.join('\n'))
  if (together?.length === lines.length)
    return together.map((cells, index) => rowOf(cells, columns, first + index))
  return lines.map((line, index) => {
    const [cells, ...others] = recordsOf(line) ?? []
    if (cells && others.length === 0) return rowOf(cells, columns, first + index)
    return {
      row: first + index,
      problem: { code: 'VALIDATION.csv.malformed', details: { reason: 'quotes' } },
    }
  })
}

function recordsOf(text: string): string[][] | undefined {
  try {
    return parse(text, { ...parsing, bom: false })
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    return undefined
  }
}

const parsing = {
  bom: true,
  record_delimiter: ['\r\n', '\n', '\r'],
  relax_column_count: true,
  skip_empty_lines: true,
}

/** Returns at most `count` records, including the header. Nothing after the last of them is parsed. */
function firstRecords(text: string, count: number): string[][] {
  try {
    return parse(text, { ...parsing, to: count })
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    // The error is not the cause: its message quotes the cell. `records` counts the rows before it, with the header.
    throw fail('VALIDATION.csv.malformed', { details: { row: Number(error.records) } })
  }
}

function columnsOf(header: readonly string[], shape: Pick<CsvShape, 'required' | 'ignored'>): string[] {
  const columns = header.map((name) => bareCell(name).trim().toLowerCase())
  const times = new Map<string, number>()
  for (const column of columns) times.set(column, (times.get(column) ?? 0) + 1)
  const known = new Set([...shape.required, ...shape.ignored])
  const missing = shape.required.filter((name) => !times.has(name))
  const unknown = [...times.keys()].filter((name) => !known.has(name))
  const repeated = [...times.keys()].filter((name) => times.get(name) !== 1)
  if (missing.length + unknown.length + repeated.length > 0) throw wrongHeader(missing, unknown, repeated)
  return columns
}

function wrongHeader(missing: string[], unknown: string[], repeated: string[]): Failure {
  return fail('VALIDATION.csv.header', {
    details: { missing: shown(missing), unknown: shown(unknown), repeated: shown(repeated) },
  })
}

function shown(names: string[]): string[] {
  return names.slice(0, mostShownNames).map(shownName)
}

function rowOf(cells: readonly string[], columns: readonly string[], row: number): CsvRow {
  const [expected, actual] = [columns.length, cells.length]
  if (actual !== expected) {
    const reason = actual < expected ? 'too_few' : 'too_many'
    return { row, problem: { code: 'VALIDATION.csv.columns', details: { reason, expected, actual } } }
  }
  // Without a prototype, only the columns can be read.
  const byColumn: Record<string, string> = Object.create(null)
  for (const [index, column] of columns.entries()) byColumn[column] = bareCell(cells[index] ?? '')
  return { row, cells: byColumn }
}
