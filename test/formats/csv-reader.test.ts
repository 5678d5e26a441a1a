import { inspect } from 'node:util'
import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { Failure } from '#shared/platform/base/failure.ts'
import { type CsvShape, readCsv } from '#shared/platform/formats/csv-reader.ts'
import { bareCell } from '#shared/platform/formats/csv-writer.ts'
import { runs } from '#test/support/runs.ts'
import { anyText } from './any-text.ts'

const shape: CsvShape = { required: ['code', 'amount'], optional: ['note'], maxRows: 3 }
const cellsOf = (text: string) => readCsv(text, shape).map(({ cells }) => cells && { ...cells })
const thrown = (action: () => unknown) => {
  try {
    return action()
  } catch (error) {
    return error
  }
}
const refusal = (code: string, details: object) => expect.objectContaining({ code, details })

describe('a file', () => {
  const rows = [
    { code: 'A', amount: '1' },
    { code: 'B', amount: '2' },
  ]

  test.each([
    ['CRLF', 'code,amount\r\nA,1\r\nB,2\r\n'],
    ['LF', 'code,amount\nA,1\nB,2\n'],
    ['CR alone', 'code,amount\rA,1\rB,2\r'],
    ['mixed line ends', 'code,amount\nA,1\r\nB,2\r'],
    ['no final line end', 'code,amount\nA,1\nB,2'],
    ['a byte order mark', '\ufeffcode,amount\nA,1\nB,2\n'],
    ['a byte order mark before a quote', '\ufeff"code",amount\nA,1\nB,2\n'],
    ['columns in another order', 'amount,code\n1,A\n2,B\n'],
    ['a header in another case and with spaces', ' Code ,\tAMOUNT\nA,1\nB,2\n'],
    ['blank lines', '\n\r\ncode,amount\n\nA,1\r\n\r\r\nB,2\n\n'],
    ['unnecessary quotes', '"code","amount"\n"A","1"\n"B",2\n'],
    ['unnamed columns without cells', 'code,, amount, \nA,,1,\nB,,2, \n'],
    ['rows of commas only', ',,\r\ncode,amount,\r\nA,1,\r\n,,\r\nB,2,\r\n,,\r\n,,,,\r\n'],
  ])('with %s is parsed', (_, text) => {
    expect(cellsOf(text)).toEqual(rows)
  })

  test('may contain commas, quotes and line ends in quoted cells', () => {
    const text = 'code,amount,note\n"A,B","say ""1""","one\r\ntwo\nthree\rfour"\n'
    expect(cellsOf(text)).toEqual([{ code: 'A,B', amount: 'say "1"', note: 'one\r\ntwo\nthree\rfour' }])
  })

  test('keeps spaces in cells and loses its guards', () => {
    expect(cellsOf("code,amount,note\n A ,'-1,'hello\n")).toEqual([
      { code: ' A ', amount: '-1', note: "'hello" },
    ])
  })

  test('of a header alone has no rows', () => {
    expect(readCsv('code,amount\r\n', shape)).toEqual([])
  })

  test('counts a quoted empty cell as a row, and a blank line not', () => {
    const one = { required: ['code'], optional: [], maxRows: 3 }
    expect(readCsv('code\n\n""\n\nA\n', one)).toEqual([
      { row: 1, cells: { code: '' } },
      { row: 2, cells: { code: 'A' } },
    ])
  })
})

describe('a header', () => {
  const nothing = { missing: [], unknown: [], repeated: [] }

  test.each([
    ['', { ...nothing, missing: ['code', 'amount'] }],
    ['\ufeff', { ...nothing, missing: ['code', 'amount'] }],
    ['\r\n\n', { ...nothing, missing: ['code', 'amount'] }],
    ['code\nA\n', { ...nothing, missing: ['amount'] }],
    ['code,amount,colour,Size\n', { ...nothing, unknown: [3, 4] }],
    ['code,amount,CODE\n', { ...nothing, repeated: ['code'] }],
    ['code,amount,note,note\n', { ...nothing, repeated: ['note'] }],
    ['code,x,x,x\n', { ...nothing, missing: ['amount'], unknown: [2, 3, 4] }],
    ['code;amount,note\n', { ...nothing, missing: ['code', 'amount'], unknown: [1] }],
    ['code,amount,__proto__\n', { ...nothing, unknown: [3] }],
    ['code,amount,constructor\n', { ...nothing, unknown: [3] }],
  ])('of %j is rejected', (text, details) => {
    expect(() => readCsv(text, shape)).toThrow(refusal('VALIDATION.csv.header', details))
  })

  test.each([
    ['code;amount\n', ';'],
    ['\ufeff\r\nCode ; Amount\r\nA;1\r\n', ';'],
    ['"code";"amount"\n', ';'],
    ['code\tamount\n', '\t'],
    ['code|amount|note', '|'],
    ['code;amount;note, colour\n', ';'],
  ])('of %j is rejected with its separator', (text, separator) => {
    const details = { reason: 'separator', separator }
    expect(() => readCsv(text, shape)).toThrow(refusal('VALIDATION.csv.header', details))
  })

  test('does not quote the first row of a file without a header', () => {
    const error = thrown(() => readCsv('ada@example.com,Ada\ngrace@example.com,Grace\n', shape))
    expect(JSON.stringify((error as Failure).details)).not.toMatch(/ada/i)
  })

  test('has at most 100 columns, with those without a name', () => {
    expect(readCsv(`code,amount${','.repeat(98)}\n`, shape)).toEqual([])
    expect(() => readCsv(`code,amount${','.repeat(99)}\n`, shape)).toThrow(
      refusal('VALIDATION.csv.header', { reason: 'too_many', max: 100, actual: 101 }),
    )
  })

  test('is rejected before anything below it', () => {
    expect(() => readCsv('code\n"A\n', shape)).toThrow(
      refusal('VALIDATION.csv.header', { ...nothing, missing: ['amount'] }),
    )
  })
})

describe('a malformed header', () => {
  test.each([
    ['an unclosed quote', '"code,amount\nA,1\n'],
    ['a stray quote', 'co"de,amount\nA,1\n'],
  ])('with %s is rejected with the whole file', (_, text) => {
    expect(() => readCsv(text, shape)).toThrow(refusal('VALIDATION.csv.malformed', { row: 0 }))
  })

  test.each(['qqq"zzz', 'x,qqq"', '"qqq', '"qqq"zzz'])('is not quoted in its error: %s', (line) => {
    const error = thrown(() => readCsv(`${line}\nA,1\n`, shape))
    expect(error).toBeInstanceOf(Failure)
    expect(inspect(error, { depth: null })).not.toMatch(/qqq|zzz/)
  })
})

describe('a row with bad quotes', () => {
  const problem = { code: 'VALIDATION.csv.malformed', details: { reason: 'quotes' } }

  test.each([
    ['an unclosed quote', '"secret,2'],
    ['an unclosed quote in its last cell', 'secret,"2'],
    ['an unclosed quote after a cell of two lines', '"sec\nret","2'],
    ['a quote within a cell', 'sec"ret,1'],
    ['text after a closing quote', '"sec"ret,3'],
    ['a space before a quote', 'A, "secret"'],
  ])('(%s) fails alone, whatever follows', (_, line) => {
    const wide = { ...shape, maxRows: 10 }
    for (const after of ['C,3', '"C",3', '"C","3"', '"C\n",3', '\n\nC,3', 'C,"3"\n"D",4']) {
      const good = readCsv(`code,amount\nA,1\n${after}\n`, wide)
      const [first, bad, ...others] = readCsv(`code,amount\nA,1\n${line}\n${after}\n`, wide)
      expect(bad).toEqual({ row: 2, problem })
      expect([first, ...others].map((row) => row?.cells)).toEqual(good.map(({ cells }) => cells))
    }
  })

  test('does not quote its contents', () => {
    const rows = readCsv('code,amount\nqqq"zzz,1\nx,qqq"\n"qqq\n', shape)
    expect(rows.map((row) => row.problem)).toEqual([problem, problem, problem])
  })
})

describe('too many rows', () => {
  const full = 'code,amount\nA,1\n\nB,2\nC,3\n\n'

  test('are one more than the limit', () => {
    expect(cellsOf(full)).toHaveLength(3)
    expect(() => readCsv(`${full}D,4\n`, shape)).toThrow(refusal('VALIDATION.csv.too_many_rows', { max: 3 }))
  })

  test('end the parsing', () => {
    expect(() => readCsv(`${full}D,4\n"never closed`, shape)).toThrow(
      refusal('VALIDATION.csv.too_many_rows', { max: 3 }),
    )
  })
})

describe('a row', () => {
  test('with too few or too many cells has a problem, and the others are parsed', () => {
    expect(readCsv('code,amount\nA\n\nB,2\nC,3,4,5\n', shape)).toEqual([
      {
        row: 1,
        problem: { code: 'VALIDATION.csv.columns', details: { reason: 'too_few', expected: 2, actual: 1 } },
      },
      { row: 2, cells: { code: 'B', amount: '2' } },
      {
        row: 3,
        problem: { code: 'VALIDATION.csv.columns', details: { reason: 'too_many', expected: 2, actual: 4 } },
      },
    ])
  })

  test('with text in a column without a name has a problem, and the others are parsed', () => {
    const problem = { code: 'VALIDATION.csv.columns', details: { reason: 'unnamed', column: 3 } }
    expect(readCsv('code,amount,,\nA,1,,\nB,2,secret,\n', shape)).toEqual([
      { row: 1, cells: { code: 'A', amount: '1' } },
      { row: 2, problem },
    ])
  })

  test('of empty cells in quotes is not skipped', () => {
    expect(cellsOf('code,amount\n"",\n')).toEqual([{ code: '', amount: '' }])
  })

  test('has no prototype, so a column can have any name', () => {
    const names = ['__proto__', 'constructor', 'tostring']
    const [row] = readCsv(`${names}\na,b,c\n`, { required: names, optional: [], maxRows: 1 })
    expect(Object.entries(row?.cells ?? {})).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
      ['tostring', 'c'],
    ])
    expect('toString' in (row?.cells ?? {})).toBe(false)
    expect(({} as Record<string, unknown>).a).toBeUndefined()
  })
})

describe('any text', () => {
  const text = fc
    .tuple(fc.constantFrom('', 'code,amount\n', '\ufeffamount,note,code\r'), fc.array(anyText))
    .map(([header, parts]) => header + parts.join(''))

  test('is parsed as rows counted from 1, or rejected with an error of the catalog', () => {
    let read = 0
    fc.assert(
      fc.property(text, (any) => {
        try {
          const rows = readCsv(any, shape)
          expect(rows.map(({ row }) => row)).toEqual(rows.map((_, index) => index + 1))
          read += rows.length
        } catch (error) {
          if (!(error instanceof Failure)) throw error
          const known = any.startsWith('code,amount\n') || any.startsWith('\ufeffamount')
          expect(error.code).toMatch(
            known ? /^VALIDATION\.csv\.(header|too_many_rows)$/ : /^VALIDATION\.csv\.(header|malformed)$/,
          )
        }
      }),
      { ...runs(3000) },
    )
    expect(read).toBeGreaterThan(0)
  })

  test('between quotes is one cell', () => {
    fc.assert(
      fc.property(anyText, (any) => {
        const [row] = readCsv(`code,amount\n"${any.replaceAll('"', '""')}",1\n`, shape)
        expect(row?.cells?.code).toBe(bareCell(any))
      }),
      { ...runs(1000) },
    )
  })
})
