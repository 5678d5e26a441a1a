import type { KeyObject } from 'node:crypto'
import type { Person } from '../identity/person.ts'
import { keyedHash } from '../platform/base/secrets.ts'

/** The purpose of the key that codes are derived from. */
export const codeKeyPurpose = 'one-time codes v1'

/**
 * Derives the uniformly distributed digits of a code from its id. Without the key they cannot be distinguished from random
 * ones.
 */
export function digitsOf(key: KeyObject, { email_hash }: Person, id: string, count: number): string {
  let digits = ''
  for (let block = 0; digits.length < count; block += 1) {
    const bytes = Buffer.from(keyedHash(key, email_hash, id, String(block)), 'base64url')
    // Bytes from 250 on would favor some digits.
    digits += [...bytes.filter((byte) => byte < 250)].map((byte) => byte % 10).join('')
  }
  return digits.slice(0, count)
}
