import { createCipheriv, createDecipheriv } from 'node:crypto'

const cipher = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16

/**
 * Encrypts and authenticates a text (AES-256-GCM), in base64url.
 * @param key 32 bytes, for this purpose only
 * @param place the associated data; `unseal` requires the same
 */
export function seal(
  key: Uint8Array,
  text: string,
  place: string,
  randomBytes: (length: number) => Uint8Array,
): string {
  const nonce = randomBytes(nonceBytes)
  const sealing = createCipheriv(cipher, key, nonce, { authTagLength: tagBytes }).setAAD(Buffer.from(place))
  const sealed = Buffer.concat([sealing.update(text), sealing.final()])
  return Buffer.concat([nonce, sealed, sealing.getAuthTag()]).toString('base64url')
}

/** Decrypts a text. @throws Error unless it was sealed with this key and place, and no character has changed */
export function unseal(key: Uint8Array, sealed: string, place: string): string {
  const bytes = Buffer.from(sealed, 'base64url')
  if (bytes.toString('base64url') !== sealed) throw new Error('not the canonical form')
  const opening = createDecipheriv(cipher, key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
  opening.setAAD(Buffer.from(place)).setAuthTag(bytes.subarray(-tagBytes))
  return Buffer.concat([opening.update(bytes.subarray(nonceBytes, -tagBytes)), opening.final()]).toString()
}
