import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import * as v from 'valibot'
import { CodeName } from '#shared/codes/code-name.ts'
import { anyCharacter } from '#test/formats/any-text.ts'
import { runs } from '#test/support/runs.ts'
import { localSettings } from '#test/support/settings.ts'
import { type Parsed, parseField } from './parse-field.ts'

const Body = v.strictObject({ name: CodeName(localSettings) })
const parse = (text: unknown) => parseField(Body, 'name', text)

const units = (from: number, to: number) =>
  fc.integer({ min: from, max: to }).map((unit) => String.fromCharCode(unit))
const anyText = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 90 }),
  fc.string({ unit: 'grapheme', maxLength: 90 }),
  fc.string({ unit: units(0, 0xffff), maxLength: 70 }),
)
/** Accented letters in NFC and NFD, Hangul, and characters that change when they are normalized. */
const composing = fc.string({
  unit: fc.constantFrom('é', 'e\u0301', 'Å', '\u212b', '각', '\u1100\u1161\u11a8', 'q\u0323\u0307', ' ', 'x'),
  minLength: 1,
  maxLength: 70,
})
const nearText = fc
  .tuple(fc.oneof(composing, anyText), fc.oneof(units(0, 0xa0), units(0xd7f0, 0xe010), units(0x2020, 0x2030)))
  .map(([text, odd]) => `${text.slice(0, 20)}${odd}${text.slice(20)}`)
const names = fc.oneof(anyText, composing, nearText)

const controls = [
  [0, 0x1f],
  [0x7f, 0x9f],
  [0x2028, 0x2029],
  [0xd800, 0xdfff],
] as const

/** An independent implementation of the rule: code points in NFC. */
function expected(text: string): Parsed {
  const name = text.trim().normalize('NFC')
  const points = Array.from(name, (one) => one.codePointAt(0) ?? 0)
  const bounds = { min: 1, max: 64, actual: points.length }
  if (points.length === 0) {
    return { code: 'VALIDATION.field.length', problem: { reason: 'too_short', ...bounds } }
  }
  if (points.length > 64) {
    return { code: 'VALIDATION.name.length.exceeds', problem: { reason: 'too_long', ...bounds } }
  }
  const refused = points.some((point) => controls.some(([from, to]) => point >= from && point <= to))
  return refused ? { code: 'VALIDATION.name.charset', problem: expect.anything() as never } : { stored: name }
}

describe('parsing the name of a code', () => {
  test('keeps the joiners and selectors of its emoji', () => {
    const family = 'Für \u{1f468}\u200d\u{1f469}\u200d\u{1f467} \u2764\ufe0f'
    expect(parse(family)).toEqual({ stored: family })
  })

  test('returns it trimmed and in NFC, or rejects its length or characters', () => {
    fc.assert(
      fc.property(names, (text) => {
        expect(parse(text)).toMatchObject(expected(text))
      }),
      { ...runs(3000) },
    )
  })

  test.each([
    ['emoji', '🎉'],
    ['letters', 'x'],
    ['decomposed letters, each counted once,', 'e\u0301'],
  ])('accepts 64 %s and rejects 65', (_, one) => {
    expect(parse(one.repeat(64))).toMatchObject({ stored: one.repeat(64).normalize('NFC') })
    expect(parse(one.repeat(65))).toMatchObject({
      code: 'VALIDATION.name.length.exceeds',
      problem: { reason: 'too_long', min: 1, max: 64, actual: 65 },
    })
  })

  test('counts each code point of a composed emoji', () => {
    const family = '👨‍👩‍👧'
    expect(parse(family.repeat(12))).toMatchObject({ stored: family.repeat(12) })
    expect(parse(family.repeat(13))).toMatchObject({ problem: { actual: 65 } })
  })

  test('preserves inner white space and trims the ends', () => {
    expect(parse('\u00a0 Ten  off \n')).toMatchObject({ stored: 'Ten  off' })
    expect(parse(' \t')).toMatchObject({
      code: 'VALIDATION.field.length',
      problem: { reason: 'too_short', min: 1, max: 64, actual: 0 },
    })
  })

  test.each([
    ['a line break', 'a\nb'],
    ['a null', 'a\u0000b'],
    ['delete', 'a\u007fb'],
    ['a C1 control', 'a\u0085b'],
    ['a line separator', 'a\u2028b'],
    ['a high surrogate alone', 'a\ud83db'],
    ['a low surrogate alone', '\udf89'],
  ])('rejects %s', (_, text) => {
    expect(parse(text)).toMatchObject({ code: 'VALIDATION.name.charset' })
  })

  test.each([null, 7, false, ['x'], {}])('rejects the type of %j', (value) => {
    expect(parse(value)).toMatchObject({ code: 'VALIDATION.field.type' })
  })
})
