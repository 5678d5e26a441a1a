/**
 * Positions where a spreadsheet may begin a formula (OWASP, 'CSV Injection'): the start of the text, before = + - @, the
 * same in full width, TAB, CR or LF; and after whatever some spreadsheets take for the end of a column or row, before
 * the first eight. Quotes may stand before the formula, as spreadsheets drop them.
 */
const formula =
  /^(?=['"]*[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20])|(?<=[;|\t\r\n])(?=['"]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])/g
/** The apostrophes at these positions. */
const guard =
  /^'(?=['"]*[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20])|(?<=[;|\t\r\n])'(?=['"]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])/g

/** Returns the text with an apostrophe before each formula, and before what `bareCell` would otherwise shorten. */
export function guardCell(text: string): string {
  return text.replace(formula, "'")
}

/** Returns the text without the apostrophes of `guardCell`; any other apostrophe belongs to the text. */
export function bareCell(text: string): string {
  return text.replace(guard, '')
}
