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

/** What RFC 4180 quotes, and spaces at an end, which readers may drop. */
const quotable = /[",\r\n]|^ | $/

/** Returns RFC 4180 lines, each ending in CRLF. `readCsv` returns the same cells, and a spreadsheet executes none. */
export function csvLines(rows: readonly (readonly string[])[]): string {
  return rows.map((cells) => `${lineOf(cells)}\r\n`).join('')
}

function lineOf(cells: readonly string[]): string {
  // Without quotes, a row of empty cells would be blank, and a blank row is skipped.
  const isBlank = cells.every((cell) => cell === '')
  return cells.map((cell) => (isBlank ? '""' : quotedCell(guardCell(cell)))).join(',')
}

function quotedCell(cell: string): string {
  return quotable.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}
