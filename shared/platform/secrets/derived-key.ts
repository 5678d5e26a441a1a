import { createHmac, hkdfSync } from 'node:crypto'

/**
 * Derives the key for one purpose from the secret of the deployment (RFC 5869). A leaked key reveals neither other keys
 * nor the secret.
 * @param purpose a name with a version, such as `list cursors v1`
 */
export function deriveKey(secret: Uint8Array, purpose: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, '', purpose, 32))
}

/**
 * Returns a pseudonym of a confidential value: HMAC-SHA-256 in base64url, 43 characters. Equal parts have equal hashes.
 * Without the key, guesses of the value cannot be tested.
 */
export function keyedHash(key: Uint8Array, ...parts: readonly string[]): string {
  return createHmac('sha256', key).update(JSON.stringify(parts)).digest('base64url')
}
