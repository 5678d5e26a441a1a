import { describe, expect, test } from '@jest/globals'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { type RowRange, readHeader, readLines, rowScanner } from '#shared/platform/formats/csv-reader.ts'
import { bareCell } from '#shared/platform/formats/csv-writer.ts'
import { timeRatio } from '#test/support/linear-time.ts'
import { runs } from '#test/support/runs.ts'
import { anyText } from './any-text.ts'

/** Scans the rows of a file whose bytes arrive in chunks of these sizes, repeated cyclically. */
function rowsOf(file: string | Uint8Array, sizes: readonly number[] = [1_000_000], longest?: number) {
  const bytes = Buffer.from(file as string)
  const scanner = rowScanner(longest)
  let places: RowRange[] = []
  for (let at = 0, piece = 0; at < bytes.length; piece += 1) {
    const size = sizes[piece % sizes.length] as number
    places = places.concat(scanner.scan(bytes.subarray(at, at + size)))
    at += size
  }
  return { bytes, places: places.concat(scanner.end()) }
}

const textsOf = (text: string, longest?: number) => {
  const { bytes, places } = rowsOf(text, undefined, longest)
  return places.map(({ from, textTo }) => bytes.toString('utf8', from, textTo))
}

/** The rows of a file by regular expressions: each starts where the one before has ended. */
function expectedRows(bytes: Uint8Array, longest: number): RowRange[] {
  const text = Buffer.from(bytes).toString('latin1')
  const endOf = (pattern: RegExp, from: number) => {
    pattern.lastIndex = from
    return pattern.test(text) ? pattern.lastIndex : from
  }
  const rows: RowRange[] = []
  for (let from = 0; from < text.length; ) {
    let textTo = from - 1
    do {
      const cell = textTo + 1
      const closed = endOf(/"[^"]*(?:""[^"]*)*"(?=[,\r\n]|$)/y, cell)
      if (text[cell] !== '"') textTo = endOf(/[^,\r\n]*/y, cell)
      else if (closed > cell && closed - 1 - from < longest) textTo = closed
      else textTo = endOf(/[^\r\n]*/y, cell)
    } while (text[textTo] === ',')
    const to = endOf(/\r\n|\n|\r/y, textTo)
    rows.push({ from, textTo, to, blank: /^,*$/.test(text.slice(from, textTo)) })
    from = to
  }
  return rows
}

const anyFile = fc.array(anyText, { maxLength: 12 }).map((parts) => parts.join(''))
const anySizes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 4 })
const byte = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...Buffer.from('""""",,\n\r')) },
  { weight: 1, arbitrary: fc.nat(255) },
)
const anyBytes = fc.array(byte, { maxLength: 60 }).map((bytes) => Uint8Array.from(bytes))
const anyLongest = fc.oneof(fc.integer({ min: 1, max: 30 }), fc.constant(Number.POSITIVE_INFINITY))

describe('the ends of rows', () => {
  test.each<[string, string, string[]]>([
    ['LF', 'a\nb\n', ['a', 'b']],
    ['CRLF', 'a\r\nb\r\n', ['a', 'b']],
    ['CR alone', 'a\rb\r', ['a', 'b']],
    ['no final line end', 'a\nb', ['a', 'b']],
    ['blank rows', '\n\r\n\ra', ['', '', '', 'a']],
    ['line ends in quotes', '"a\n\r\nb",c\nd', ['"a\n\r\nb",c', 'd']],
    ['quotes in quotes', '"a""\n""b"\nc', ['"a""\n""b"', 'c']],
    ['a literal quote within a cell', 'a"b\nc"\nd', ['a"b', 'c"', 'd']],
    ['an unclosed quote', 'a\n"b\nc\n', ['a', '"b', 'c']],
    ['an unclosed quote in the last row', 'a\n"b', ['a', '"b']],
    ['an unclosed quote before quoted cells', '"a\nb\n"c",d\n"e\nf"\n', ['"a', 'b', '"c",d', '"e\nf"']],
    ['an unclosed quote after a quoted line end', '"a\nb","c\nd\n', ['"a\nb","c', 'd']],
    ['an unclosed quote before blank rows', '"a\r\n\r\nb\r\n', ['"a', '', 'b']],
    ['two unclosed quotes in a row', '"a,"b\nc\n"d"\n', ['"a,"b', 'c', '"d"']],
    ['text after a closing quote', '"a\nb"c\nd', ['"a', 'b"c', 'd']],
    ['nothing', '', []],
  ])('with %s', (_, text, rows) => {
    expect(textsOf(text)).toEqual(rows)
  })

  test.each([
    ['"aaaa\nb"\nc\n', 8, ['"aaaa\nb"', 'c']],
    ['"aaaa\nb"\nc\n', 7, ['"aaaa', 'b"', 'c']],
    ['"aaaaaaaaaa"\nc\n', 4, ['"aaaaaaaaaa"', 'c']],
    ['aaaaaa,"b\nc"\nd', 4, ['aaaaaa,"b', 'c"', 'd']],
  ])('of %j are found within rows of %d bytes', (text, longest, rows) => {
    expect(textsOf(text, longest)).toEqual(rows)
  })

  test('are those of the specification, for any bytes in any chunks', () => {
    fc.assert(
      fc.property(anyBytes, anySizes, anyLongest, (bytes, sizes, longest) => {
        expect(rowsOf(bytes, sizes, longest).places).toEqual(expectedRows(bytes, longest))
      }),
      runs(30_000),
    )
  })

  test.each([
    ...['"\n', '"a\n', '""\n', '"""\n', '"a""\n', 'a,"b\n', '",\n', '",""\n', '""a\n', '"'],
    ...['\n', 'a@example.com\n', '""', '"",', ',"a'],
  ])('after a quote that is never closed, take time linear in the length of a file of many %j', (part) => {
    const work = (text: string) => rowsOf(text, [text.length], Number.POSITIVE_INFINITY)
    const textOf = (length: number) => `"${part.repeat(length / part.length)}`
    expect(timeRatio(work, textOf, 1_000_000)).toBeLessThan(4)
  })

  test('after a quote that is never closed, are found with the bytes of one row in memory', () => {
    const scanner = rowScanner(100_000)
    const piece = Buffer.from('a@example.com\n'.repeat(1000))
    scanner.scan(Buffer.from('"'))
    let [scanned, found] = [1, 0]
    for (let n = 0; n < 100; n += 1) {
      scanned += piece.length
      found = scanner.scan(piece).at(-1)?.to ?? found
      expect(scanned - found).toBeLessThanOrEqual(100_000 + piece.length)
    }
    expect(found).toBe(scanned)
  })
})

describe('individually parsed rows', () => {
  const columns = ['a', 'b']

  test('equal those of the entire file, if it can be parsed', () => {
    const cell = fc.oneof(
      anyText.map((text) => `"${text.replaceAll('"', '""')}"`),
      fc.string({ unit: fc.constantFrom('x', 'é', ' ', '😀', '='), maxLength: 4 }),
    )
    const line = fc.array(cell, { minLength: 1, maxLength: 3 }).map((cells) => cells.join(','))
    const lineEnd = fc.constantFrom('\n', '\r\n', '\r')
    fc.assert(
      fc.property(fc.array(line, { maxLength: 8 }), lineEnd, (lines, end) => {
        const text = lines.join(end)
        const rows = textsOf(text).filter((row) => row !== '')
        expect(rows).toEqual(lines.filter((row) => row !== ''))
        const apart = rows.flatMap((row, index) => readLines([row], columns, index + 1))
        expect(readLines(rows, columns, 1)).toEqual(apart)
        // The library reads the entire file.
        const delimiters = { record_delimiter: ['\r\n', '\n', '\r'], skip_empty_lines: true }
        const whole = parse(text, { ...delimiters, relax_column_count: true })
        expect(apart.map(({ cells, problem }) => (cells ? Object.values(cells) : problem?.details))).toEqual(
          whole.map((cells) =>
            cells.length === 2
              ? cells.map(bareCell)
              : expect.objectContaining({ expected: 2, actual: cells.length }),
          ),
        )
      }),
    )
  })

  test('never throw, and a malformed row does not affect others', () => {
    fc.assert(
      fc.property(anyFile, (text) => {
        const rows = textsOf(text).filter((row) => row !== '')
        const read = readLines(rows, columns, 5)
        expect(read.map(({ row }) => row)).toEqual(rows.map((_, index) => index + 5))
        const good = readLines(['"x', 'y,"z"', 'a"b,c'], columns, 1)
        expect(good.map(({ problem }) => problem?.code)).toEqual([
          'VALIDATION.csv.malformed',
          undefined,
          'VALIDATION.csv.malformed',
        ])
      }),
    )
  })

  test('get their columns from the header', () => {
    expect(readHeader(' Email ,"NAME"', { required: ['email'], optional: ['name'] })).toEqual([
      'email',
      'name',
    ])
  })
})
