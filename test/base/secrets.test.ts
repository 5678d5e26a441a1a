import { expect, test } from '@jest/globals'
import { type KeyName, keyDerivation } from '#shared/platform/base/secrets.ts'

const secret = 'a secret of the tests, long enough'

test('a key is that of HKDF with SHA-256, without a salt', () => {
  // Calculated with two HMACs, as RFC 5869 defines it.
  const key = '2c942ccec22939b073de200e93094fd3c3e43bf6d300a90eac5a4dfd3cb12f4f'
  expect(keyDerivation()(secret, 'cursors').export().toString('hex')).toBe(key)
})

test.each<[string, string, KeyName]>([
  ['name', secret, 'sessions'],
  ['secret', `${secret}.`, 'cursors'],
])('another %s has another key', (_, ...other) => {
  const deriveKey = keyDerivation()
  const key = deriveKey(secret, 'cursors')
  expect(deriveKey(...other).equals(key)).toBe(false)
  expect(deriveKey(secret, 'cursors').equals(key)).toBe(true)
})

test('a secret that can be guessed is refused', () => {
  expect(() => keyDerivation()('x'.repeat(31), 'cursors')).toThrow('too short')
})
