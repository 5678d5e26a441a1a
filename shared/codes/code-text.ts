import * as v from 'valibot'
import { characters } from '../platform/formats/text.ts'

/**
 * The stored form of a code's text: trimmed, ASCII letters in upper case, 1 to 16 of A-Z, 0-9 and hyphen. Create,
 * import, verify and filters all use it. It maps ASCII letters only: ß, ı and the Kelvin sign are rejected, although
 * toUpperCase or toLowerCase maps them to ASCII.
 */
export const CodeText = v.pipe(
  v.string(),
  v.metadata({ pattern: '^\\s*[A-Za-z0-9-]{1,16}\\s*$' }),
  v.trim(),
  v.transform((text) => text.replace(/[a-z]/g, (letter) => letter.toUpperCase())),
  characters(1, 16, 'VALIDATION.code.length.exceeds'),
  v.regex(/^[A-Z0-9-]+$/, 'VALIDATION.code.charset'),
)

/** Returns the stored form of a text; undefined if it is not a valid code. */
export function codeTextOf(text: string): string | undefined {
  const result = v.safeParse(CodeText, text)
  return result.success ? result.output : undefined
}
