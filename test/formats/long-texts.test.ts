import { afterEach, describe, expect, jest, test } from '@jest/globals'
import * as v from 'valibot'
import { CodeName } from '#shared/codes/code-name.ts'
import { normalizeEmail } from '#shared/platform/formats/text.ts'
import { localSettings } from '#test/support/settings.ts'

/** Marks of two combining classes in turn: to put them in order takes time quadratic in their number. */
const marks = '\u0301\u0316'.repeat(10_000)

afterEach(() => {
  jest.restoreAllMocks()
})

function normalizedLengths(call: () => unknown): number[] {
  const normalize = jest.spyOn(String.prototype, 'normalize')
  call()
  return normalize.mock.contexts.map((text) => String(text).length)
}

describe('a text that is too long in any form is refused without being normalized', () => {
  test('as an e-mail address', () => {
    expect(normalizedLengths(() => normalizeEmail(`a${marks}@example.com`))).toEqual([])
    expect(normalizeEmail(`a${marks}@example.com`)).toBeUndefined()
  })

  test('as the name of a code', () => {
    const parse = (name: string) => v.safeParse(CodeName(localSettings), name, { abortPipeEarly: true })
    expect(normalizedLengths(() => parse(`a${marks}`))).toEqual([])
    expect(parse(`a${marks}`).issues?.map(({ message }) => message)).toEqual([
      'VALIDATION.name.length.exceeds',
    ])
  })
})

test('the longest name is accepted in its longest form', () => {
  // One character of NFC, four of NFD.
  const longest = '\u1f82'.repeat(64)
  expect(v.parse(CodeName(localSettings), longest.normalize('NFD'))).toBe(longest)
})
