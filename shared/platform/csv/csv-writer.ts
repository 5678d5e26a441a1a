import { stringify } from 'csv-stringify/sync'
import { guardCell } from './csv-cell.ts'

/** One line of RFC 4180 with CRLF at its end: `readCsv` gives the same cells, and a spreadsheet runs none. */
export function csvLine(cells: readonly string[]): string {
  return csvLines([cells])
}

/** Such lines one after another, for a page of rows. */
export function csvLines(rows: readonly (readonly string[])[]): string {
  return stringify([...rows], {
    cast: { string: guardCell },
    record_delimiter: '\r\n',
    quote_record_delimiter: true,
    quoted_match: /^ | $/,
    // An empty cell that stands alone would be a blank line, which is no row.
    quoted_empty: rows.some(({ length }) => length === 1),
  })
}
