/**
 * Text that a spreadsheet may run as a formula (OWASP, 'CSV Injection': = + - @ TAB CR LF, and the first four
 * in full width), or that would be such text without the apostrophes before it.
 */
const formula = /^'*[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/

/** The text with an apostrophe before it if it is a formula, or if `bareCell` would otherwise shorten it. */
export function guardCell(text: string): string {
  return formula.test(text) ? `'${text}` : text
}

/** The text without the apostrophe that `guardCell` gave it; any other apostrophe belongs to the text. */
export function bareCell(text: string): string {
  return text.startsWith("'") && formula.test(text) ? text.slice(1) : text
}
