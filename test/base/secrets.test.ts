import { expect, test } from '@jest/globals'
import { keyDerivation } from '#shared/platform/base/secrets.ts'

const secret = 'a secret of the tests, long enough'
const purpose = 'list cursors v1'

test('a key is that of HKDF with SHA-256, without a salt', () => {
  // Calculated with two HMACs, as RFC 5869 defines it.
  const key = '00ebe1c377ca67e72f4738bd07f5869ad4f0448d92ca1ecb0e6b870db2db8fed'
  expect(keyDerivation()(secret, purpose).export().toString('hex')).toBe(key)
})

test.each([
  ['purpose', secret, 'sessions v1'],
  ['secret', `${secret}.`, purpose],
])('another %s has another key', (_, ...other) => {
  const deriveKey = keyDerivation()
  const key = deriveKey(secret, purpose)
  expect(deriveKey(...other).equals(key)).toBe(false)
  expect(deriveKey(secret, purpose).equals(key)).toBe(true)
})
