import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import * as v from 'valibot'
import { CodeText, codeTextOf } from '#shared/codes/code-text.ts'
import { anyCharacter } from '#test/formats/any-text.ts'
import { runs } from '#test/support/runs.ts'
import { type Parsed, parseField } from './parse-field.ts'

const Body = v.strictObject({ code: CodeText })
const parse = (text: string) => parseField(Body, 'code', text)

const upper = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
const lower = 'abcdefghijklmnopqrstuvwxyz'
const others = '0123456789-'
const regex = '^[A-Z0-9-]+$'
const anyText = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  // Lone surrogates too.
  fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)), maxLength: 40 }),
)
const validText = fc.string({
  unit: fc.constantFrom(...upper, ...lower, ...others),
  minLength: 1,
  maxLength: 16,
})
const space = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r', '\u00a0', '\u2003', '\ufeff') })
/** Nearly valid texts: one arbitrary character in a valid text, with white space around it. */
const nearText = fc
  .tuple(space, validText, fc.string({ unit: anyCharacter, maxLength: 2 }), fc.nat(16), space)
  .map(([before, text, odd, at, after]) => `${before}${text.slice(0, at)}${odd}${text.slice(at)}${after}`)

/** An independent implementation of the rule. */
function expected(text: string): Parsed {
  const characters = Array.from(text.trim())
  const actual = characters.length
  const bounds = { min: 1, max: 16, actual }
  if (actual === 0) return { code: 'VALIDATION.field.length', problem: { reason: 'too_short', ...bounds } }
  if (actual > 16) {
    return { code: 'VALIDATION.code.length.exceeds', problem: { reason: 'too_long', ...bounds } }
  }
  const shown = characters.map((one) => {
    if (upper.includes(one) || others.includes(one)) return one
    return lower.includes(one) ? upper[lower.indexOf(one)] : undefined
  })
  return shown.includes(undefined)
    ? { code: 'VALIDATION.code.charset', problem: { reason: 'format', regex } }
    : { stored: shown.join('') }
}

describe('parsing the text of a code', () => {
  test('returns it trimmed with ASCII letters in upper case, or rejects its length or characters', () => {
    fc.assert(
      fc.property(fc.oneof(anyText, nearText, validText), (text) => {
        const parsed = expected(text)
        expect(parse(text)).toMatchObject(parsed)
        expect(codeTextOf(text)).toBe('stored' in parsed ? parsed.stored : undefined)
      }),
      { ...runs(3000) },
    )
  })

  test.each([
    ['ß', 'whose upper case is SS'],
    ['ı', 'whose upper case is I'],
    ['ſ', 'whose upper case is S'],
    ['\u212a', 'the Kelvin sign, whose lower case is k'],
    ['é', 'a letter with an accent'],
    ['ﬁ', 'a ligature whose upper case is FI'],
    ['Ａ', 'a wide letter'],
    ['А', 'a Cyrillic letter that looks like A'],
    ['٣', 'a digit of another script'],
    ['–', 'a dash other than the hyphen'],
    ['_', 'an underscore'],
    ['A B', 'inner white space'],
    ['A\u0000', 'a control character'],
    ['\ud83d', 'a lone surrogate'],
  ])('rejects %j (%s) instead of mapping it', (text) => {
    expect(parse(text)).toMatchObject({
      code: 'VALIDATION.code.charset',
      problem: { reason: 'format', regex },
    })
    expect(codeTextOf(text)).toBeUndefined()
  })

  test('counts the length after trimming', () => {
    expect(parse(`  ${'x'.repeat(16)}\n`)).toEqual({ stored: 'X'.repeat(16) })
    const bounds = { min: 1, max: 16 }
    const long = { reason: 'too_long', ...bounds, actual: 17 }
    expect(parse('x'.repeat(17))).toMatchObject({ code: 'VALIDATION.code.length.exceeds', problem: long })
    const short = { reason: 'too_short', ...bounds, actual: 0 }
    expect(parse(' \t ')).toMatchObject({ code: 'VALIDATION.field.length', problem: short })
  })

  test.each([null, 7, true, ['A'], { code: 'A' }])('rejects the type of %j', (value) => {
    expect(parseField(Body, 'code', value)).toMatchObject({ code: 'VALIDATION.field.type' })
  })
})
