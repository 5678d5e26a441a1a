import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { profileSchema } from '#bin/describe/profile-schema.ts'
import { narrowed, type Schema } from './narrowed.ts'

const file = join(import.meta.dirname, 'released/profile.schema.json')
const released: Schema = JSON.parse(readFileSync(file, 'utf8'))

test('every setting accepts the values that it accepted in the last release', () => {
  expect(narrowed(released, profileSchema() as Schema)).toEqual([])
})

const object = (properties: object, more = {}) => ({
  type: 'object',
  properties,
  additionalProperties: false,
  ...more,
})

describe('a setting accepts fewer values after', () => {
  test.each<[string, Schema, Schema]>([
    ['a lower maximum', { type: 'integer', maximum: 9 }, { type: 'integer', maximum: 8 }],
    ['a new minimum', { type: 'integer' }, { type: 'integer', minimum: 1 }],
    ['the end of a value', { enum: ['a', 'b'] }, { enum: ['a'] }],
    ['a list of values', { type: 'string' }, { enum: ['a'] }],
    ['the end of null', { anyOf: [{ type: 'string' }, { type: 'null' }] }, { type: 'string' }],
    ['another pattern', { type: 'string', pattern: 'a' }, { type: 'string', pattern: 'b' }],
    ['another type', { type: 'number' }, { type: 'integer' }],
    ['the end of a member', object({ a: true }), object({})],
    ['a required member', object({ a: true }), object({ a: true }, { required: ['a'] })],
    [
      'a limit on the members of a map',
      { additionalProperties: true },
      { additionalProperties: { maximum: 1 } },
    ],
    [
      'a limit on the entries of a list',
      { items: { type: 'string' } },
      { items: { type: 'string', minLength: 1 } },
    ],
  ])('%s', (_, before, now) => {
    expect(narrowed(before, now)).not.toEqual([])
    expect(narrowed(before, before)).toEqual([])
  })
})

describe('a setting accepts all values of before after', () => {
  test.each<[string, Schema, Schema]>([
    ['a higher maximum', { type: 'integer', maximum: 8 }, { type: 'integer', maximum: 9 }],
    ['a new value', { enum: ['a'] }, { enum: ['a', 'b'] }],
    ['the end of a list of values', { enum: ['a', null] }, { type: ['string', 'null'] }],
    ['null', { type: 'string' }, { anyOf: [{ type: 'null' }, { type: 'string' }] }],
    ['a new member', object({ a: true }), object({ a: true, b: true })],
  ])('%s', (_, before, now) => {
    expect(narrowed(before, now)).toEqual([])
  })
})
