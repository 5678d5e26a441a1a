import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { bareCell, guardCell } from '#shared/platform/formats/csv-writer.ts'
import { timeRatio } from '#test/support/linear-time.ts'
import { runs } from '#test/support/runs.ts'
import { anyText } from './any-text.ts'

const formulaStarts = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']

describe('any text', () => {
  test('is unchanged after guarding and unguarding', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(bareCell(guardCell(text))).toBe(text)
      }),
      { ...runs(2000) },
    )
  })

  test('begins no formula after guarding in any part, wherever a spreadsheet splits it', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const starts = guardCell(text)
          .split(/[;|\t\r\n]/)
          .map((part) => part.replace(/^"*/, '')[0])
        expect(starts.filter((start) => start !== undefined && formulaStarts.includes(start))).toEqual([])
      }),
      { ...runs(2000) },
    )
  })

  test('is changed only by apostrophes', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const others = text.replaceAll("'", '')
        expect([guardCell(text), bareCell(text)].map((cell) => cell.replaceAll("'", ''))).toEqual([
          others,
          others,
        ])
      }),
      { ...runs(2000) },
    )
  })
})

describe('a guard', () => {
  test.each(formulaStarts)('is added before %j and before its guarded form, and removed again', (start) => {
    for (const text of [start, `${start}1`, `'${start}1`, `'''${start}1`]) {
      expect(guardCell(text)).toBe(`'${text}`)
      expect(bareCell(`'${text}`)).toBe(text)
    }
  })

  test.each([
    ['x;=cmd', "x;'=cmd"],
    ['x|=1', "x|'=1"],
    ['x\t@a', "x\t'@a"],
    ['x\n=1', "x\n'=1"],
    ['a;-1;+2', "a;'-1;'+2"],
    ["x;'=1", "x;''=1"],
    ['x;"=1', 'x;\'"=1'],
    ['x;\t=1', "x;\t'=1"],
    ['\t=1', "'\t'=1"],
  ])('turns %j into the cell %j, and is removed again', (text, cell) => {
    expect([guardCell(text), bareCell(cell)]).toEqual([cell, text])
  })

  test.each([";'=", "'", ';'])('takes time linear in the length of a text of many %j', (part) => {
    const work = (text: string) => bareCell(guardCell(text))
    expect(timeRatio(work, (length) => part.repeat(length / part.length), 600_000)).toBeLessThan(4)
  })

  test.each(['', "'", "''", "'hello", "O'Brien", '1-1', ' =1', 'a=1', 'a;b', 'a; =1', 'x,=1', '–1'])(
    'leaves %j unchanged in both directions',
    (text) => {
      expect(guardCell(text)).toBe(text)
      expect(bareCell(text)).toBe(text)
    },
  )

  test('that a spreadsheet already removed is not required', () => {
    expect(bareCell('-5')).toBe('-5')
  })
})
