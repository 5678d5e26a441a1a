import { CsvError, parse } from 'csv-parse/sync'
import type { ErrorCode } from '../../error-catalog.ts'
import { displayName, fail } from '../base/failure.ts'
import { bareCell } from './csv-writer.ts'

/** The byte offsets of one row of a file: `from` is inclusive, `textTo` and `to` are exclusive. */
export interface RowRange {
  from: number
  /** The end of the row without its line break. */
  textTo: number
  /** The start of the next row. */
  to: number
}

type Field = 'begins' | 'plain' | 'quoted' | 'quote_in_quotes'

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
  let field: Field = 'begins'
  let afterReturn = false

  function endRow(textTo: number, to: number): RowRange {
    const row = { from, textTo, to }
    from = to
    field = 'begins'
    return row
  }

  return {
    /** @param bytes the next bytes of the file. @returns the rows that end within them */
    scan(bytes: Uint8Array): RowRange[] {
      const rows: RowRange[] = []
      for (const byte of bytes) {
        const paired = afterReturn && byte === lineFeed
        if (afterReturn) rows.push(endRow(at - 1, paired ? at + 1 : at))
        const outsideQuotes = field !== 'quoted'
        afterReturn = outsideQuotes && byte === carriageReturn
        if (outsideQuotes && byte === lineFeed) {
          if (!paired) rows.push(endRow(at, at + 1))
        } else if (!afterReturn) field = fieldAfter(field, byte)
        at += 1
      }
      return rows
    },

    /** @returns the last row, unless `scan` has returned it */
    end(): RowRange[] {
      if (afterReturn) return [endRow(at - 1, at)]
      return from < at ? [endRow(at, at)] : []
    },
  }
}

function fieldAfter(field: Field, byte: number): Field {
  if (field === 'quoted') return byte === quote ? 'quote_in_quotes' : 'quoted'
  if (byte === comma) return 'begins'
  return byte === quote && field !== 'plain' ? 'quoted' : 'plain'
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

/** The error of a rejected row, with a code of the catalog. */
interface CsvRowProblem {
  code: ErrorCode
  details: { reason: 'too_few' | 'too_many'; expected: number; actual: number } | { reason: 'quotes' }
}

/** A data row, numbered from 1: its cells by column name, or its problem. */
export type CsvRow =
  | { row: number; cells: Readonly<Record<string, string>>; problem?: undefined }
  | { row: number; cells?: undefined; problem: CsvRowProblem }

const maxDisplayedNames = 20

/**
 * Returns the data rows of an RFC 4180 file. Lines may also end in LF or CR alone; blank lines are skipped.
 * A row with too few or too many cells has a problem; any other error fails the whole file.
 * @throws VALIDATION.csv.header, VALIDATION.csv.malformed, VALIDATION.csv.too_many_rows
 */
export function readCsv(text: string, shape: CsvShape): CsvRow[] {
  // The header is checked first: its error is clearer than the errors that follow from it in the rows.
  const columns = readHeader(text, shape)
  const [, ...rows] = firstRecords(text, shape.maxRows + 2)
  if (rows.length <= shape.maxRows) return rows.map((cells, index) => rowOf(cells, columns, index + 1))
  throw fail('VALIDATION.csv.too_many_rows', { details: { max: shape.maxRows } })
}

/**
 * Returns the columns of a text that starts with a header.
 * @throws VALIDATION.csv.header, VALIDATION.csv.malformed
 */
export function readHeader(text: string, shape: Pick<CsvShape, 'required' | 'ignored'>): string[] {
  const [header = []] = firstRecords(text, 1)
  const columns = header.map((name) => bareCell(name).trim().toLowerCase())
  const times = new Map<string, number>()
  for (const column of columns) times.set(column, (times.get(column) ?? 0) + 1)
  const known = new Set([...shape.required, ...shape.ignored])
  const missing = shape.required.filter((name) => !times.has(name))
  const unknown = [...times.keys()].filter((name) => !known.has(name))
  const repeated = [...times.keys()].filter((name) => times.get(name) !== 1)
  if (missing.length + unknown.length + repeated.length === 0) return columns
  const shown = (names: string[]) => names.slice(0, maxDisplayedNames).map(displayName)
  const details = { missing: shown(missing), unknown: shown(unknown), repeated: shown(repeated) }
  throw fail('VALIDATION.csv.header', { details })
}

/**
 * Returns the data rows of lines that were split at row ends, without blank ones. An error in one affects no other.
 * @param first the number of the first row
 */
export function readLines(lines: readonly string[], columns: readonly string[], first: number): CsvRow[] {
  const recordsOf = (text: string) => records(text, { bom: false }, () => [])
  const together = recordsOf(lines.join('\n'))
  return lines.map((line, index) => {
    const [cells, ...others] =
      together.length === lines.length ? together.slice(index, index + 1) : recordsOf(line)
    if (cells && others.length === 0) return rowOf(cells, columns, first + index)
    const problem = { code: 'VALIDATION.csv.malformed', details: { reason: 'quotes' } } as const
    return { row: first + index, problem }
  })
}

/** Returns at most `to` records, including the header. Nothing after the last of them is parsed. */
function firstRecords(text: string, to: number): string[][] {
  return records(text, { bom: true, to }, (error) => {
    // The error is not the cause: its message quotes the cell. `records` counts the rows before it, with the header.
    throw fail('VALIDATION.csv.malformed', { details: { row: Number(error.records) } })
  })
}

function records(
  text: string,
  options: { bom: boolean; to?: number },
  malformed: (error: CsvError) => string[][],
): string[][] {
  const delimiters = { record_delimiter: ['\r\n', '\n', '\r'], skip_empty_lines: true }
  try {
    return parse(text, { ...delimiters, relax_column_count: true, ...options })
  } catch (error) {
    if (error instanceof CsvError) return malformed(error)
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
  for (const [index, column] of columns.entries()) byColumn[column] = bareCell(cells[index] ?? '')
  return { row, cells: byColumn }
}
