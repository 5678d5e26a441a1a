import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { type CsvRow, readCsv } from '#shared/platform/formats/csv-reader.ts'
import { csvLines } from '#shared/platform/formats/csv-writer.ts'
import { runs } from '#test/support/runs.ts'
import { anyText } from './any-text.ts'

const csvLine = (cells: readonly string[]) => csvLines([cells])

describe('a line', () => {
  test.each([
    [['a', 'b'], 'a,b\r\n'],
    [['a,b', 'c'], '"a,b",c\r\n'],
    [['say "a"', ''], '"say ""a""",\r\n'],
    [['a\nb', 'a\rb', 'a\r\nb'], '"a\nb","a\rb","a\r\nb"\r\n'],
    [[' a', 'a ', 'a b', ' '], '" a","a ",a b," "\r\n'],
    [['x;=1', 'y|"@a'], `x;'=1,"y|'""@a"\r\n`],
    [['=1+1', '-5', '@a', "O'Brien"], "'=1+1,'-5,'@a,O'Brien\r\n"],
    [['=A1,"x"', '\r1'], '"\'=A1,""x""","\'\r1"\r\n'],
    [['', ''], '"",""\r\n'],
    [['', 'a'], ',a\r\n'],
    [[''], '""\r\n'],
  ])('of %j is %j', (cells, line) => {
    expect(csvLine(cells)).toBe(line)
  })

  test('is the same alone and among others', () => {
    const rows = [
      ['a', '='],
      ['b,', ' '],
      ['', ''],
      ['', 'c'],
    ]
    expect(csvLines(rows)).toBe(rows.map(csvLine).join(''))
    expect(csvLines([])).toBe('')
  })
})

describe('written cells', () => {
  const columnName = anyText.filter((name) => name !== '' && name === name.trim().toLowerCase())
  const table = fc.uniqueArray(columnName, { minLength: 1, maxLength: 6 }).chain((columns) =>
    fc.record({
      columns: fc.constant(columns),
      required: fc.shuffledSubarray(columns),
      rows: fc.array(fc.array(anyText, { minLength: columns.length, maxLength: columns.length })),
      mark: fc.constantFrom('', '\ufeff'),
    }),
  )

  test('are parsed as the same cells, for any contents and order of the columns', () => {
    fc.assert(
      fc.property(table, ({ columns, required, rows, mark }) => {
        const optional = columns.filter((column) => !required.includes(column))
        const text = mark + csvLine(columns) + csvLines(rows)
        const read = readCsv(text, { required, optional, maxRows: rows.length })
        const entries = read.map(({ row, cells }: CsvRow) => [row, Object.entries(cells ?? {}).sort()])
        const expected = rows.map((row, n) => [n + 1, columns.map((column, at) => [column, row[at]]).sort()])
        expect(entries).toEqual(expected)
      }),
      { ...runs(1000) },
    )
  })
})
