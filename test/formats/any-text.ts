import fc from 'fast-check'

/** What means something to CSV, to a spreadsheet or to the parser. */
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

/** Any Unicode text without lone surrogates, often made of what CSV may stumble over. */
export const anyText = fc.oneof(
  fc.string({ unit: telling, maxLength: 8 }),
  fc.string({ unit: 'binary' }),
  fc
    .tuple(fc.string({ unit: telling, maxLength: 4 }), fc.string({ unit: 'binary' }))
    .map((parts) => parts.join('')),
)
