import * as v from 'valibot'
import { characters } from '../platform/schemas/characters.ts'

/**
 * The text of a code in the form in which it is stored: trimmed, ASCII letters in upper case, 1 to 16 of A-Z, 0-9 and
 * hyphen (contract, 'Discount code'). The one normaliser of create, import, verify and filters. No other letters are
 * mapped: what only looks like a letter of ASCII in upper case, as ß, ı and the Kelvin sign do, is refused.
 */
export const CodeText = v.pipe(
  v.string(),
  v.metadata({ pattern: '^\\s*[A-Za-z0-9-]{1,16}\\s*$' }),
  v.trim(),
  v.transform((text) => text.replace(/[a-z]/g, (letter) => letter.toUpperCase())),
  characters(1, 16, 'VALIDATION.code.length.exceeds'),
  v.regex(/^[A-Z0-9-]+$/, 'VALIDATION.code.charset'),
)

/** The stored form of a text, or undefined when it is no code's. */
export function codeTextOf(text: string): string | undefined {
  const result = v.safeParse(CodeText, text)
  return result.success ? result.output : undefined
}
