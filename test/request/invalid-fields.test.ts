import { describe, expect, test } from '@jest/globals'
import * as v from 'valibot'
import {
  characters,
  dateTimePattern,
  Email,
  instant,
  utcInstant,
  wholeNumber,
} from '#shared/platform/formats/text.ts'
import { invalidFields } from '#shared/platform/request/invalid-fields.ts'
import { localSettings } from '#test/support/settings.ts'

/** Returns the error of a body that a schema rejects. */
function failureOf(schema: v.GenericSchema, body: unknown, changes: Partial<typeof localSettings> = {}) {
  const { issues } = v.safeParse(schema, body)
  if (!issues) throw new Error('the body is valid')
  return invalidFields(issues, { ...localSettings, 'errors.multiField': 'fields', ...changes })
}

/** Returns the code of an error and its fields. */
function problemsOf(schema: v.GenericSchema, body: unknown): unknown[] {
  const { code, details } = failureOf(schema, body)
  return [code, details?.fields]
}

const text = v.string()
const numbers = v.array(v.number())
const ofText = { code: 'VALIDATION.field.type', reason: 'type', type: 'number', actual: 'string' }
const ofNull = { ...ofText, actual: 'null' }

describe('the problem with a field', () => {
  test('is its name or its absence', () => {
    const code = 'VALIDATION.field.unknown'
    const unknown = { field: { code, reason: 'unknown', actual: 'number' } }
    expect(problemsOf(v.strictObject({}), { field: 1 })).toEqual([code, unknown])
    const required = { code: 'VALIDATION.field.required', reason: 'required', actual: 'absent' }
    expect(problemsOf(v.strictObject({ field: text }), {})).toEqual([required.code, { field: required }])
  })

  test.each<[string, v.GenericSchema]>([
    ['a strict object', v.strictObject({ field: text })],
    ['an object', v.object({ field: text })],
    ['a loose object', v.looseObject({ field: text })],
    ['an object with other fields', v.objectWithRest({ field: text }, v.unknown())],
  ])('is its absence, also in %s within another', (_, inner) => {
    const required = { code: 'VALIDATION.field.required', reason: 'required', actual: 'absent' }
    expect(problemsOf(v.strictObject({ data: inner }), { data: {} })).toEqual([
      required.code,
      { 'data.field': required },
    ])
  })

  const pair = v.pipe(text, characters(2, 3))
  const number = v.number()
  const never = v.check<string>(() => false)
  const whole = wholeNumber(1)
  const list = v.picklist(['able', 'c'])
  const noTime = (actual: number) => ({ reason: 'no_such_time', actual })
  const type = (expected: string, actual: string) => ({ reason: 'type', type: expected, actual })
  const short = { reason: 'too_short', actual: 1 }
  const long = { reason: 'too_long', max: 2, actual: 3 }
  const small = { reason: 'too_small', min: 1 }
  const inexact = { reason: 'too_large', max: 2 ** 53 - 1, actual: 2 ** 53 }
  const charset = { reason: 'charset', regex: '^\\P{Cs}*$', actual: 1 }
  const utcRequired = { reason: 'utc_required', regex: 'Z$', actual: 25 }
  const pattern = dateTimePattern.source

  test.each<[string, v.GenericSchema, unknown, string, object]>([
    ['too few characters', pair, '😀', 'length', { ...short, min: 2, max: 3 }],
    ['too many characters', pair, 'abcd', 'length', { ...long, min: 2, max: 3, actual: 4 }],
    ['a short text', v.pipe(text, v.minLength(3)), '😀', 'length', { ...short, min: 3 }],
    ['a long text', v.pipe(text, v.maxLength(2)), '😀😀😀', 'length', long],
    ['a short array', v.pipe(numbers, v.minLength(2)), [1], 'length', { ...short, min: 2 }],
    ['a long array', v.pipe(numbers, v.maxLength(2)), [1, 2, 3], 'length', long],
    ['a small number', v.pipe(number, v.minValue(2)), 1, 'range', { reason: 'too_small', min: 2, actual: 1 }],
    ['a large number', v.pipe(number, v.maxValue(1)), 2, 'range', { reason: 'too_large', max: 1, actual: 2 }],
    ['no text of a list', list, 'bb', 'enum', { reason: 'not_allowed', allowed: ['able', 'c'], actual: 2 }],
    [
      'not the only text',
      v.picklist(['a']),
      'b',
      'enum',
      { reason: 'not_allowed', allowed: ['a'], actual: 1 },
    ],
    ['a number of a list of texts', list, 1, 'type', { ...type('string', 'number'), allowed: ['able', 'c'] }],
    ['null for a text of a list', list, null, 'type', { ...type('string', 'null'), allowed: ['able', 'c'] }],
    ['a pattern', v.pipe(text, v.regex(/^a$/)), 'b', 'format', { reason: 'format', regex: '^a$', actual: 1 }],
    ['a character set', v.pipe(text, never), 'b', 'format', charset],
    ['a day that does not exist', instant, '2030-02-30T00:00:00Z', 'format', noTime(20)],
    ['a leap second within a month', instant, '2030-02-20T23:59:60Z', 'format', noTime(20)],
    ['an offset that does not exist', instant, '2030-02-20T00:00:00+24:00', 'format', noTime(25)],
    ['a time after 9999 in UTC', instant, '9999-12-31T23:59:59-01:00', 'format', noTime(25)],
    ['a text that is no date', instant, 'b', 'format', { reason: 'date-time', regex: pattern, actual: 1 }],
    ['a date with an offset', utcInstant, '2026-03-01T00:00:00+00:00', 'format', utcRequired],
    ['a text for a number', number, 'b', 'type', type('number', 'string')],
    ['a text for an object', v.strictObject({}), 'b', 'type', type('object', 'string')],
    ['a text for an array', numbers, 'b', 'type', type('array', 'string')],
    [
      'neither of two types',
      v.union([number, v.boolean()]),
      'b',
      'type',
      { reason: 'type', actual: 'string' },
    ],
    ['null', number, null, 'type', type('number', 'null')],
    ['an array', number, [], 'type', type('number', 'array')],
    ['a fraction', whole, 1.5, 'type', { reason: 'integer', integer: true, actual: 1.5 }],
    ['a text for an integer', whole, '1', 'type', { ...type('number', 'string'), integer: true }],
    ['a small integer', whole, 0, 'range', { ...small, actual: 0 }],
    ['an integer that no double holds exactly', whole, 2 ** 53, 'range', inexact],
    ['an integer far below its minimum', whole, -(2 ** 53), 'range', { ...small, actual: -(2 ** 53) }],
  ])('%s', (_, schema, field, rule, problem) => {
    const code = `VALIDATION.field.${rule}`
    expect(problemsOf(v.strictObject({ field: schema }), { field })).toEqual([
      code,
      { field: { code, ...problem } },
    ])
  })

  const zone = { reason: 'timezone_required', regex: pattern, actual: 19 }
  test.each<[string, v.GenericSchema, unknown, string, object]>([
    ['a date', instant, '2026-03-01T00:00:00', 'VALIDATION.datetime.timezone_required', zone],
    ['an address', Email, 'b', 'VALIDATION.email', { reason: 'email', max: 254, actual: 1 }],
    ['an immutable field', v.never(), 1, 'AUTHZ.field.denied', { reason: 'immutable', actual: 'number' }],
  ])('may have a code of its own: %s', (_, schema, field, code, problem) => {
    expect(problemsOf(v.strictObject({ field: schema }), { field })).toEqual([
      code,
      { field: { code, ...problem } },
    ])
  })

  test('is reported by its path, and as the body if it has none', () => {
    expect(problemsOf(v.strictObject({ a: numbers }), { a: [1, 'b'] })[1]).toEqual({ 'a.1': ofText })
    expect(problemsOf(v.strictObject({}), 'b')[1]).toEqual({ body: { ...ofText, type: 'object' } })
  })

  test('of an empty change is the whole body', () => {
    const change = v.pipe(v.strictObject({}), v.minEntries(1))
    const code = 'VALIDATION.body.invalid'
    expect(problemsOf(change, {})).toEqual([code, { body: { code, reason: 'empty', min: 1, actual: 0 } }])
  })
})

test('no problem quotes a text that the caller sent', () => {
  const secret = 'hunter2@example'
  const schema = v.strictObject({
    a: v.number(),
    b: v.picklist(['x']),
    c: v.pipe(text, v.regex(/^x$/)),
    d: v.pipe(text, v.maxLength(1)),
    e: Email,
    f: instant,
    g: v.optional(v.never()),
  })
  const fields = { b: secret, c: secret, d: secret, e: secret, f: secret }
  expect(JSON.stringify(failureOf(schema, { a: secret, ...fields, h: secret }).details)).not.toContain(
    'hunter2',
  )
  expect(JSON.stringify(failureOf(schema, { a: 1, ...fields, g: secret }).details)).not.toContain('hunter2')
})

describe('several invalid fields', () => {
  const schema = v.strictObject({ a: v.number(), b: v.number(), c: v.optional(v.never()) })

  test('have their common code', () => {
    expect(problemsOf(schema, { a: 'x', b: null })).toEqual([
      'VALIDATION.field.type',
      { a: ofText, b: ofNull },
    ])
  })

  test('have a general code if theirs differ, and keep their own', () => {
    const required = { code: 'VALIDATION.field.required', reason: 'required', actual: 'absent' }
    const fields = { a: ofText, b: required }
    expect(problemsOf(schema, { a: 'x' })).toEqual(['VALIDATION.body.invalid', fields])
  })

  test('are left out if another field may not be written at all', () => {
    expect(problemsOf(schema, { a: 'x', b: 1, c: 1 })).toEqual([
      'AUTHZ.field.denied',
      { c: { code: 'AUTHZ.field.denied', reason: 'immutable', actual: 'number' } },
    ])
  })

  test('are a list, too, if the settings say so', () => {
    const listed = failureOf(schema, { a: 'x', b: null }, { 'errors.multiField': 'fields_and_errors' })
    expect(listed.details?.errors).toEqual([
      { field: 'a', ...ofText },
      { field: 'b', ...ofNull },
    ])
    expect(failureOf(schema, { a: 'x', b: null }).details).not.toHaveProperty('errors')
  })

  test('are no list if there is one', () => {
    const { details } = failureOf(schema, { a: 'x', b: 1 }, { 'errors.multiField': 'fields_and_errors' })
    expect(details).toEqual({ fields: { a: ofText } })
  })
})
