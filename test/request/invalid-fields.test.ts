import { describe, expect, test } from '@jest/globals'
import * as v from 'valibot'
import { characters, Email, instant, utcInstant } from '#shared/platform/formats/text.ts'
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

describe('the problem with a field', () => {
  test('is its name or its absence', () => {
    const unknown = { field: { reason: 'unknown' } }
    expect(problemsOf(v.strictObject({}), { field: 1 })).toEqual(['VALIDATION.field.unknown', unknown])
    const required = { field: { reason: 'required' } }
    expect(problemsOf(v.strictObject({ field: text }), {})).toEqual(['VALIDATION.field.required', required])
  })

  test.each<[string, v.GenericSchema, unknown, string, object]>([
    [
      'characters, too few',
      v.pipe(text, characters(2, 3)),
      '😀',
      'length',
      { reason: 'too_short', min: 2, max: 3, actual: 1 },
    ],
    [
      'characters, too many',
      v.pipe(text, characters(2, 3)),
      'abcd',
      'length',
      { reason: 'too_long', min: 2, max: 3, actual: 4 },
    ],
    [
      'a text too short',
      v.pipe(text, v.minLength(3)),
      '😀',
      'length',
      { reason: 'too_short', min: 3, actual: 1 },
    ],
    [
      'a text too long',
      v.pipe(text, v.maxLength(2)),
      '😀😀',
      'length',
      { reason: 'too_long', max: 2, actual: 2 },
    ],
    [
      'an array too short',
      v.pipe(numbers, v.minLength(2)),
      [1],
      'length',
      { reason: 'too_short', min: 2, actual: 1 },
    ],
    [
      'an array too long',
      v.pipe(numbers, v.maxLength(1)),
      [1, 2],
      'length',
      { reason: 'too_long', max: 1, actual: 2 },
    ],
    [
      'a number too small',
      v.pipe(v.number(), v.minValue(2)),
      1,
      'range',
      { reason: 'too_small', min: 2, actual: 1 },
    ],
    [
      'a number too large',
      v.pipe(v.number(), v.maxValue(1)),
      2,
      'range',
      { reason: 'too_large', max: 1, actual: 2 },
    ],
    ['a text of no list', v.picklist(['a']), 'b', 'enum', { reason: 'not_allowed' }],
    ['a number of a list of texts', v.picklist(['a']), 1, 'type', { reason: 'type', actual: 'number' }],
    ['a pattern', v.pipe(text, v.regex(/^a$/)), 'b', 'format', { reason: 'format', regex: '^a$' }],
    [
      'a character set',
      v.pipe(
        text,
        v.check(() => false),
      ),
      'b',
      'format',
      { reason: 'charset' },
    ],
    ['a date that does not exist', instant, 'b', 'format', { reason: 'date-time' }],
    ['a date with an offset', utcInstant, '2026-03-01T00:00:00+00:00', 'format', { reason: 'utc_required' }],
    ['a text for a number', v.number(), 'b', 'type', { reason: 'type', actual: 'string' }],
    ['a text for an object', v.strictObject({}), 'b', 'type', { reason: 'type', actual: 'string' }],
    ['null', v.number(), null, 'type', { reason: 'type', actual: 'null' }],
    ['an array', v.number(), [], 'type', { reason: 'type', actual: 'array' }],
    ['a fraction', v.pipe(v.number(), v.safeInteger()), 1.5, 'type', { reason: 'type', actual: 'number' }],
  ])('%s', (_, schema, field, rule, problem) => {
    const expected = [`VALIDATION.field.${rule}`, { field: problem }]
    expect(problemsOf(v.strictObject({ field: schema }), { field })).toEqual(expected)
  })

  test.each<[string, v.GenericSchema, unknown, string, object]>([
    [
      'a date',
      instant,
      '2026-03-01T00:00:00',
      'VALIDATION.datetime.timezone_required',
      { reason: 'timezone_required' },
    ],
    ['an address', Email, 'b', 'VALIDATION.email', { reason: 'email' }],
    ['an immutable field', v.never(), 1, 'AUTHZ.field.denied', { reason: 'immutable' }],
  ])('may have a code of its own: %s', (_, schema, field, code, problem) => {
    expect(problemsOf(v.strictObject({ field: schema }), { field })).toEqual([code, { field: problem }])
  })

  test('is reported by its path, and as the body if it has none', () => {
    const problem = { reason: 'type', actual: 'string' }
    expect(problemsOf(v.strictObject({ a: numbers }), { a: [1, 'b'] })[1]).toEqual({ 'a.1': problem })
    expect(problemsOf(v.strictObject({}), 'b')[1]).toEqual({ body: problem })
  })

  test('of an empty change is the whole body', () => {
    const change = v.pipe(v.strictObject({}), v.minEntries(1))
    expect(problemsOf(change, {})).toEqual(['VALIDATION.body.invalid', { body: { reason: 'empty', min: 1 } }])
  })
})

describe('several invalid fields', () => {
  const schema = v.strictObject({ a: v.number(), b: v.number(), c: v.optional(v.never()) })
  const [ofText, ofNull] = [
    { reason: 'type', actual: 'string' },
    { reason: 'type', actual: 'null' },
  ]

  test('have their common code', () => {
    expect(problemsOf(schema, { a: 'x', b: null })).toEqual([
      'VALIDATION.field.type',
      { a: ofText, b: ofNull },
    ])
  })

  test('have a general code if theirs differ', () => {
    const fields = { a: ofText, b: { reason: 'required' } }
    expect(problemsOf(schema, { a: 'x' })).toEqual(['VALIDATION.body.invalid', fields])
  })

  test('are left out if another field may not be written at all', () => {
    expect(problemsOf(schema, { a: 'x', b: 1, c: 1 })).toEqual([
      'AUTHZ.field.denied',
      { c: { reason: 'immutable' } },
    ])
  })

  test('are a list, too, if the settings say so', () => {
    const listed = failureOf(schema, { a: 'x', b: null }, { 'errors.multiField': 'fields_and_errors' })
    expect(listed.details?.errors).toEqual([
      { field: 'a', code: 'VALIDATION.field.type', ...ofText },
      { field: 'b', code: 'VALIDATION.field.type', ...ofNull },
    ])
    expect(failureOf(schema, { a: 'x', b: null }).details).not.toHaveProperty('errors')
  })

  test('are no list if there is one', () => {
    const { details } = failureOf(schema, { a: 'x', b: 1 }, { 'errors.multiField': 'fields_and_errors' })
    expect(details).toEqual({ fields: { a: ofText } })
  })
})
