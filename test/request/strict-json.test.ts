import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { Failure } from '#shared/platform/base/failure.ts'
import { parseStrictJson } from '#shared/platform/request/strict-json.ts'
import { timeRatio } from '#test/support/linear-time.ts'
import { runs } from '#test/support/runs.ts'

/** The error code, and the invalid fields with their reasons. */
function refusal(text: string): unknown[] {
  try {
    parseStrictJson(text)
  } catch (thrown) {
    if (!(thrown instanceof Failure)) throw thrown
    return [thrown.code, thrown.details?.fields]
  }
  return []
}

describe('a number', () => {
  test.each([
    '999999999999.0000001',
    '1.00000000000000001',
    '1e-400',
    '-1e-400',
    '1e400',
    '9007199254740993',
    '12345678901234567',
    '123456789012345678901234567890',
    '0.1000000000000000055511151231257827',
    '1e99999999999999999999',
  ])('that a double cannot represent is rejected: %s', (number) => {
    const code = 'VALIDATION.field.range'
    const actual = Math.min(Number(number), Number.MAX_VALUE)
    const fields = { amount: { code, reason: 'inexact', actual } }
    expect(refusal(`{"amount":${number}}`)).toEqual([code, fields])
  })

  test.each([
    ['0', 0],
    ['-0', -0],
    ['0.1', 0.1],
    ['1.10', 1.1],
    ['1e3', 1000],
    ['1E+3', 1000],
    ['0e99999999999999999999', 0],
    ['999999999999.00000000', 999999999999],
    ['9007199254740991', 9007199254740991],
    ['100000000000000000000', 1e20],
    ['0.30000000000000004', 0.30000000000000004],
    ['5e-324', 5e-324],
    ['1.7976931348623157e308', 1.7976931348623157e308],
    [`0.${'0'.repeat(500)}1e501`, 1],
  ])('that a double represents is parsed: %s', (text, number) => {
    expect(parseStrictJson(text)).toBe(number)
  })

  test.each([
    ['{"a":[{"b":1},1e400]}', 'a.1'],
    ['{"a":[1,[2,{"b":{"c":1},"d":-1e400}]]}', 'a.1.1.d'],
    ['{"a":{"b":[]},"c":1e400}', 'c'],
    ['1e400', 'body'],
  ])('is reported by its path: %s', (text, path) => {
    expect(Object.keys(refusal(text)[1] as object)).toEqual([path])
  })
})

describe('a duplicate name in an object', () => {
  test.each([
    ['as it is', '{"a":1,"b":2,"a":3}', 'a'],
    ['with other escapes', '{"a":1,"\\u0061":2}', 'a'],
    ['with white space', '{ "a" : 1 ,\n"a" : 2 }', 'a'],
    ['in an object in an array', '{"list":[{"b":1},{"b":2,"b":3}]}', 'list.1.b'],
    ['after an object with the same name', '{"a":{"a":1},"b":[],"a":2}', 'a'],
    ['called __proto__', '{"__proto__":1,"__proto__":2}', '__proto__'],
    ['with a quote in it', '{"\\"":1,"\\"":2}', '"'],
    ['empty', '{"":1,"":2}', ''],
  ])('is rejected: %s', (_, text, name) => {
    const code = 'VALIDATION.body.json'
    const problem = { code, reason: 'repeated', max: 1, actual: 2 }
    const [rejectedAs, fields = {}] = refusal(text)
    expect([rejectedAs, Object.entries(fields as object)]).toEqual([code, [[name, problem]]])
  })

  test('is distinguished from values and names of other objects', () => {
    const text = '{"a":"a","b":{"a":"b","c":["a","a"]},"c":"a"}'
    expect(parseStrictJson(text)).toEqual(JSON.parse(text))
  })
})

describe('a text that is no JSON', () => {
  const positionOf = (text: string) => {
    try {
      return parseStrictJson(text)
    } catch (thrown) {
      const { code, details } = thrown as Failure
      return [code, details]
    }
  }

  // Some of them are from the JSON Parsing Test Suite.
  test.each([
    ['', 0],
    [' ', 1],
    ['{', 1],
    ['{"a"', 4],
    ['{"a":', 5],
    ['{"a":1', 6],
    ['{"a":1,', 7],
    ['{"a":1,}', 7],
    ['{,"a":1}', 1],
    ['{"a" 1}', 5],
    ['{"a":1 "b":2}', 7],
    ['{"a"::1}', 5],
    ['{1:1}', 1],
    ["{'a':1}", 1],
    ['{"a":x}', 5],
    ['{"a":"x', 5],
    ['{"\\x":1}', 1],
    ['{"a":"\t"}', 5],
    ['{"a":"\\u00zz"}', 5],
    ['{"😀":x}', 5],
    ['[1,]', 3],
    ['[,1]', 1],
    ['[1 2]', 3],
    ['{"a":1]', 6],
    ['1,2', 1],
    ['{"a":1,2}', 7],
    ['[1,2,x]', 5],
    ['["a,b" x]', 7],
    ['["\\u0041" x]', 10],
    ['["\\uFfaA" x]', 10],
    ['["\\nab\\"" x]', 10],
    ['[-123.456E-78 x]', 14],
    ['[0.5,10e5 x]', 10],
    ['[-0,9,true,false,null x]', 22],
    ['[1e+23,"" x]', 10],
    ['[1}', 2],
    ['{"a":[1}', 7],
    ['[1]]', 3],
    ['{} {}', 3],
    ['01', 1],
    ['-', 0],
    ['1.', 1],
    ['+1', 0],
    ['.5', 0],
    ['0x1', 1],
    ['NaN', 0],
    ['nul', 0],
    ['truex', 4],
    ['/**/1', 0],
    ['[1] // end', 4],
    ['\u00a01', 0],
    ['"a\nb"', 0],
  ])('%j is rejected with the position of the error', (text, position) => {
    expect(positionOf(text)).toEqual(['VALIDATION.body.json', { position }])
  })

  test('has its error within the text or at its end, whatever is changed', () => {
    const edits = fc.tuple(fc.nat(), fc.nat(3), fc.constantFrom(...'{}[]",:x1\\ '))
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), edits, (given, [at, removed, added]) => {
        const whole = JSON.stringify(given)
        const start = at % (whole.length + 1)
        const text = `${whole.slice(0, start)}${added}${whole.slice(start + removed)}`
        try {
          JSON.parse(text)
        } catch {
          const [, details] = positionOf(text) as [string, { position?: number }]
          // A name that the edit repeated, or a number that it made inexact, is reported by its name.
          if (details.position === undefined) return
          expect(details.position).toBeLessThanOrEqual(text.length)
        }
      }),
      { ...runs(500) },
    )
  })

  test('is rejected in linear time', () => {
    const textOf = (length: number) => `["${'\\n'.repeat(length / 2)}",]`
    expect(timeRatio(refusal, textOf, 400_000)).toBeLessThan(4)
  })
})

describe('any JSON', () => {
  const value = fc.jsonValue({ maxDepth: 5, noUnicodeString: false })

  test('without such numbers and names is parsed like JSON.parse', () => {
    fc.assert(
      fc.property(value, fc.constantFrom(undefined, 1, '\t'), (given, space) => {
        const text = JSON.stringify(given, null, space)
        expect(parseStrictJson(text)).toEqual(JSON.parse(text))
      }),
    )
  })

  test('truncated anywhere is rejected with an error of the catalog', () => {
    fc.assert(
      fc.property(value, fc.nat(), (given, cut) => {
        const text = JSON.stringify([given])
        expect(String(refusal(text.slice(0, cut % text.length))[0])).toMatch(/^VALIDATION\.(body|field)\./)
      }),
    )
  })
})

describe('invalid JSON', () => {
  test.each(['"1e400', ']', ',', '{"a":1}}', '1 2'])('is rejected without a field: %s', (text) => {
    expect(refusal(text)).toEqual(['VALIDATION.body.json', undefined])
  })

  test('keeps the cause of its rejection', () => {
    const cause = expect.objectContaining({ name: 'SyntaxError' })
    expect(() => parseStrictJson('{')).toThrow(expect.objectContaining({ cause }))
  })
})

test('objects and arrays may be nested 32 times', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  expect(refusal(nested(32))).toEqual([])
  const tooDeep = { code: 'VALIDATION.body.too_deep', details: { max: 32 } }
  expect(() => parseStrictJson(nested(33))).toThrow(expect.objectContaining(tooDeep))
})

const textsOf: [string, (length: number) => string][] = [
  ['open brackets', (length) => '['.repeat(length)],
  ['empty objects', (length) => `[${'{},'.repeat(length / 3)}{}]`],
  ['names', (length) => `{${Array.from({ length: length / 10 }, (_, n) => `"k${n}":1`).join()}}`],
  ['escaped quotes', (length) => `"${'\\"'.repeat(length / 2)}"`],
  ['quotes', (length) => '"'.repeat(length)],
  ['minus signs', (length) => '-'.repeat(length)],
  ['digits', (length) => '1'.repeat(length)],
  ['zeros within a number', (length) => `1${'0'.repeat(length)}1`],
  ['long numbers', (length) => `[${'0.30000000000000004,'.repeat(length / 20)}1]`],
]

test.each(textsOf)('%s take time linear in their length', (_, textOf) => {
  expect(timeRatio(refusal, textOf, 262_144)).toBeLessThan(4)
})
