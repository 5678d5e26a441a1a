import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { bareCell, guardCell } from '#shared/platform/csv/csv-cell.ts'
import { anyText } from '#test/csv/any-text.ts'

const formulaStarts = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']

describe('any text', () => {
  test('is the same after being guarded and bared', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(bareCell(guardCell(text))).toBe(text)
      }),
      { numRuns: 2000 },
    )
  })

  test('never begins a formula once it is guarded', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(formulaStarts).not.toContain(guardCell(text)[0])
      }),
      { numRuns: 2000 },
    )
  })

  test('is changed by at most one apostrophe before it', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect([text, `'${text}`]).toContain(guardCell(text))
        expect([text, text.replace(/^'/, '')]).toContain(bareCell(text))
      }),
      { numRuns: 2000 },
    )
  })
})

describe('a guard', () => {
  test.each(formulaStarts)(
    'stands before %j and before its guarded form, and is taken away again',
    (start) => {
      for (const text of [start, `${start}1`, `'${start}1`, `'''${start}1`]) {
        expect(guardCell(text)).toBe(`'${text}`)
        expect(bareCell(`'${text}`)).toBe(text)
      }
    },
  )

  test.each(['', "'", "''", "'hello", "O'Brien", '1-1', ' =1', 'a=1', '–1'])(
    'leaves %j as it is, both ways',
    (text) => {
      expect(guardCell(text)).toBe(text)
      expect(bareCell(text)).toBe(text)
    },
  )

  test('that a spreadsheet took away already is not missed', () => {
    expect(bareCell('-5')).toBe('-5')
  })
})
