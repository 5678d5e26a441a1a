import { stringify } from 'csv-stringify/sync'

/**
 * Positions where a spreadsheet may start a formula (OWASP, 'CSV Injection'). At the start of the text: before = + - @,
 * their full-width forms, TAB, CR or LF. After a character that some spreadsheets treat as the end of a column or row:
 * before the first eight. Quotes may precede the formula, as spreadsheets drop them.
 */
const formula =
  /^(?=['"]*[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20])|(?<=[;|\t\r\n])(?=['"]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])/g
/** The apostrophes at these positions. */
const guard =
  /^'(?=['"]*[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20])|(?<=[;|\t\r\n])'(?=['"]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])/g

/** Returns the text with an apostrophe before each formula, and before apostrophes that `bareCell` would remove. */
export function guardCell(text: string): string {
  return text.replace(formula, "'")
}

/** Returns the text without the apostrophes of `guardCell`; any other apostrophe belongs to the text. */
export function bareCell(text: string): string {
  return text.replace(guard, '')
}

/** Returns RFC 4180 lines, each ending in CRLF. `readCsv` returns the same cells, and a spreadsheet executes none. */
export function csvLines(rows: readonly (readonly string[])[]): string {
  return stringify([...rows], {
    cast: { string: guardCell },
    record_delimiter: '\r\n',
    quote_record_delimiter: true,
    quoted_match: /^ | $/,
    // Without quotes, a row of empty cells would be blank, and a blank row is skipped.
    quoted_empty: rows.some((cells) => cells.every((cell) => cell === '')),
  })
}
