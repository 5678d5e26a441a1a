import type { KeyObject } from 'node:crypto'
import { keyedHash } from '../platform/base/secrets.ts'

/** What the digits of a code depend on besides the key. */
interface CodeSource {
  /** Normalized. A mail that was redirected to another address has other digits, which are worth nothing. */
  email: string
  /** The random value of the code. */
  salt: string
}

/** Returns a new salt: 256 random bits. */
export function newSalt(randomBytes: (length: number) => Uint8Array): string {
  return Buffer.from(randomBytes(32)).toString('base64url')
}

/**
 * Derives the uniformly distributed digits of a code. Without the key, or without the salt, they cannot be distinguished
 * from random ones.
 */
export function digitsOf(key: KeyObject, { email, salt }: CodeSource, count: number): string {
  let digits = ''
  for (let block = 0; digits.length < count; block += 1) {
    const bytes = Buffer.from(keyedHash(key, email, salt, String(block)), 'base64url')
    // Bytes from 250 on would favor some digits.
    digits += [...bytes.filter((byte) => byte < 250)].map((byte) => byte % 10).join('')
  }
  return digits.slice(0, count)
}

/** Returns a code as it was typed or pasted in its own form: without blanks and hyphens, and with full-width digits as those of ASCII. */
export function plainDigits(typed: string): string {
  return typed.normalize('NFKC').replace(/[\p{White_Space}\p{Dash_Punctuation}]/gu, '')
}
