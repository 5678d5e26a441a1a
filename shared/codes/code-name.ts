import * as v from 'valibot'
import { characters, nfc } from '../platform/formats/text.ts'
import { describedAs, openPoint, perSettings } from '../settings/per-settings.ts'

const maxCharacters = 64

/**
 * The name as the description shows it. Its pattern lets through what the service rejects: PHP knows no `\\u`, Go no
 * lookahead, and clients in PHP match bytes, so a range beyond ASCII would refuse letters.
 */
const published = v.pipe(
  v.string(),
  characters(1, maxCharacters),
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern rejects these.
  v.regex(/^[^\x00-\x1f\x7f]*$/),
  v.description(
    'It is trimmed and put into NFC before its characters are counted. U+0080 to U+009F, U+2028 and U+2029 are rejected, too.',
  ),
)

/**
 * The name of a code: trimmed, NFC, then 1 to 64 Unicode code points. Emoji are accepted; control characters and lone
 * surrogates are not.
 */
export const CodeName = perSettings((settings) => {
  const name = v.pipe(
    v.string(),
    v.trim(),
    nfc(maxCharacters),
    characters(1, maxCharacters, 'VALIDATION.name.length.exceeds'),
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern rejects these.
    v.regex(/^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$/, 'VALIDATION.name.charset'),
    v.check((text) => text.isWellFormed(), 'VALIDATION.name.charset'),
    describedAs(published),
  )
  if (settings['codes.nameInnerSpace'] === 'allowed') return name
  return v.pipe(name, v.regex(/^\S*$/u, 'VALIDATION.name.charset'), openPoint('codes.nameInnerSpace'))
})
