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

/** Any Unicode text without lone surrogates, often with characters that are special in CSV. */
export const anyText = fc.oneof(
  fc.string({ unit: telling, maxLength: 8 }),
  fc.string({ unit: 'binary' }),
  fc
    .tuple(fc.string({ unit: telling, maxLength: 4 }), fc.string({ unit: 'binary' }))
    .map((parts) => parts.join('')),
)
