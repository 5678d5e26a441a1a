import { stringify } from 'csv-stringify/sync'
import { guardCell } from './csv-cell.ts'

/** Returns one RFC 4180 line with a final CRLF. `readCsv` returns the same cells, and a spreadsheet executes none. */
export function csvLine(cells: readonly string[]): string {
  return csvLines([cells])
}

/** Returns such lines for a page of rows. */
export function csvLines(rows: readonly (readonly string[])[]): string {
  return stringify([...rows], {
    cast: { string: guardCell },
    record_delimiter: '\r\n',
    quote_record_delimiter: true,
    quoted_match: /^ | $/,
    // Without quotes, a single empty cell would be a blank line, which is not a row.
    quoted_empty: rows.some(({ length }) => length === 1),
  })
}
