import fc from 'fast-check'

/** Characters with a meaning for CSV, spreadsheets or the parser. */
const telling = fc.constantFrom(
  ...[
    "'",
    '"',
    ',',
    '\r',
    '\n',
    '\t',
    ' ',
    ';',
    '|',
    '=',
    '+',
    '-',
    '@',
    '＝',
    '＠',
    '\ufeff',
    '\0',
    'a',
    'é',
    '😀',
  ],
)

const surrogates = { first: 0xd800, count: 0x800 }

/**
 * Any code point but surrogates, as the unit 'binary' of fast-check. That one takes a second to build, once in each file
 * of tests.
 */
export const anyCharacter = fc
  .nat(0x10_ffff - surrogates.count)
  .map((n) => String.fromCodePoint(n < surrogates.first ? n : n + surrogates.count), indexOf)

function indexOf(character: unknown): number {
  if (typeof character !== 'string' || [...character].length !== 1) throw new Error('not a character')
  const point = character.codePointAt(0) as number
  return point < surrogates.first ? point : point - surrogates.count
}

/** Any Unicode text without lone surrogates, often with characters that are special in CSV. */
export const anyText = fc.oneof(
  fc.string({ unit: telling, maxLength: 8 }),
  fc.string({ unit: anyCharacter }),
  fc
    .tuple(fc.string({ unit: telling, maxLength: 4 }), fc.string({ unit: anyCharacter }))
    .map((parts) => parts.join('')),
)
