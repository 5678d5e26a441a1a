import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { readHeader, readLines, rowScanner } from '#shared/platform/formats/csv-reader.ts'
import { anyText } from './any-text.ts'

/** Scans the rows of a text whose bytes arrive in chunks of these sizes, repeated cyclically. */
function rowsOf(text: string, sizes: readonly number[] = [1_000_000]) {
  const bytes = Buffer.from(text)
  const scanner = rowScanner()
  const places = []
  for (let at = 0, piece = 0; at < bytes.length; piece += 1) {
    const size = sizes[piece % sizes.length] as number
    places.push(...scanner.scan(bytes.subarray(at, at + size)))
    at += size
  }
  places.push(...scanner.end())
  return { bytes, places }
}

const textsOf = (text: string) => {
  const { bytes, places } = rowsOf(text)
  return places.map(({ from, textTo }) => bytes.toString('utf8', from, textTo))
}

const anyFile = fc.array(anyText, { maxLength: 12 }).map((parts) => parts.join(''))
const anySizes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 4 })

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
    ['an unclosed quote', 'a\n"b\nc\n', ['a', '"b\nc\n']],
    ['nothing', '', []],
  ])('with %s', (_, text, rows) => {
    expect(textsOf(text)).toEqual(rows)
  })

  test('partition the file, whatever chunks it arrives in', () => {
    fc.assert(
      fc.property(anyFile, anySizes, (text, sizes) => {
        const { bytes, places } = rowsOf(text, sizes)
        expect(places).toEqual(rowsOf(text).places)
        expect(Buffer.concat(places.map(({ from, to }) => bytes.subarray(from, to)))).toEqual(bytes)
      }),
    )
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
    expect(readHeader(' Email ,"NAME"', { required: ['email'], ignored: ['name'] })).toEqual([
      'email',
      'name',
    ])
  })
})
