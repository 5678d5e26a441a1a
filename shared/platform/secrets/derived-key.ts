import { createHmac, hkdfSync } from 'node:crypto'

/**
 * A key for one purpose, made from the secret of the deployment (RFC 5869): what is known of one key says nothing of
 * another's, nor of the secret.
 * @param purpose a name with a version, such as `list cursors v1`
 */
export function deriveKey(secret: Uint8Array, purpose: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, '', purpose, 32))
}

/**
 * What stands for a value that must not be told: the same for the same parts, and nobody without the key can try out
 * which value it stands for. HMAC-SHA-256 in base64url, of 43 characters.
 */
export function keyedHash(key: Uint8Array, ...parts: readonly string[]): string {
  return createHmac('sha256', key).update(JSON.stringify(parts)).digest('base64url')
}
