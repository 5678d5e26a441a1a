import { expect, test } from '@jest/globals'
import Ajv from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { type Schema, schemaChanges } from '#bin/schema-changes.ts'

const ajv = new Ajv.default({ strict: false })

/** Small schemas and small values, so many values match. */
const bound = (low: string, high: string) =>
  fc.record(
    { [low]: fc.integer({ min: 0, max: 2 }), [high]: fc.integer({ min: 1, max: 3 }) },
    { requiredKeys: [] },
  )
const ofType = (type: string, keywords: fc.Arbitrary<object>) => keywords.map((more) => ({ type, ...more }))
const { schema } = fc.letrec<{ schema: Schema }>((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(
      {},
      { type: 'null' },
      { type: 'boolean' },
      { type: 'string', enum: ['a', 'b'] },
      { const: 'a' },
    ),
    ofType('string', bound('minLength', 'maxLength')),
    ofType('string', fc.record({ pattern: fc.constantFrom('^[a]{1,2}$', '^[a-c]{1,3}$', '^[ab]+$') })),
    ofType('integer', bound('minimum', 'maximum')),
    ofType('number', bound('minimum', 'exclusiveMaximum')),
    ofType(
      'array',
      fc.record({ items: tie('schema'), maxItems: fc.constantFrom(1, 2) }, { requiredKeys: [] }),
    ),
    ofType(
      'object',
      fc.record(
        {
          properties: fc.dictionary(fc.constantFrom('a', 'b'), tie('schema')),
          required: fc.uniqueArray(fc.constantFrom('a', 'b')),
          additionalProperties: fc.oneof(fc.boolean(), tie('schema')),
        },
        { requiredKeys: [] },
      ),
    ),
    fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) }),
  ),
}))
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, true, '', 'a', 'b', 'abc', 0, 1, 2, 3, 0.5),
    fc.array(tie('value'), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('value'), { maxKeys: 3 }),
  ),
}))
/** A schema, and a slightly or completely different one. */
const change = fc.tuple(schema, schema, fc.boolean()).map(([before, other, wholly]) => {
  return {
    before,
    after: wholly ? other : { ...before, ...other, type: before.type ?? other.type ?? 'object' },
  }
})

test('if a change is compatible for requests, all previously valid values stay valid', () => {
  let lenient = 0
  fc.assert(
    fc.property(change, fc.array(value, { minLength: 8, maxLength: 8 }), ({ before, after }, values) => {
      if (schemaChanges({ before, after, as: 'sender' }).length > 0) return
      lenient += 1
      const [was, is] = [ajv.compile(before), ajv.compile(after)]
      for (const one of values) if (was(one)) expect([one, is(one)]).toEqual([one, true])
    }),
    { numRuns: 1500 },
  )
  expect(lenient).toBeGreaterThan(100)
})

test('no schema is a change of itself, for senders or readers', () => {
  fc.assert(
    fc.property(schema, fc.constantFrom('sender', 'reader'), (same, as) => {
      expect(schemaChanges({ before: same, after: structuredClone(same), as })).toEqual([])
    }),
  )
})

test.each([
  ['^[A-Za-z0-9._-]{1,64}$', '^[\\x21-\\x7e]{1,128}$', true],
  ['^[A-Z][A-Z0-9_-]{0,63}$', '^[A-Z][A-Z0-9._-]{0,63}$', true],
  ['^[A-Z]{1,16}$', '^[A-Z]{1,15}$', false],
  ['^[A-Z]{1,16}$', '^[A-Z]{2,16}$', false],
  ['^[A-Z.]{1,16}$', '^[A-Z]{1,16}$', false],
  ['^[A-Z]$', '^[A-Z]{1,2}$', true],
  ['^a+$', '^a*$', false],
])('senders of text of %s may send text of %s: %j', (before, after, expected) => {
  const texts = (pattern: string) => ({ type: 'string', pattern })
  const changes = schemaChanges({ before: texts(before), after: texts(after), as: 'sender' })
  expect(changes.length === 0).toBe(expected)
})

test.each([
  ['string', 'binary', 0],
  ['integer', 'int64', 0],
  ['string', 'uuid', 1],
])('a %s that gets the format %s is %d changes for senders', (type, format, count) => {
  const changes = schemaChanges({
    before: { type },
    after: { type, format },
    as: 'sender',
  })
  expect(changes).toHaveLength(count)
})
