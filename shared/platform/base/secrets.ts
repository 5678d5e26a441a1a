import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
} from 'node:crypto'
import type { Settings } from '../../settings/register.ts'
import type { Budget, Clock } from './clock.ts'

/**
 * The secrets that operators store: the payment provider's key, the keys that sign webhooks, those that sign Stripe's, and the
 * probe's API key.
 */
export type SecretName = 'payments' | 'webhooks' | 'stripe_webhooks' | 'probe'

/** The value of an API key, of the payment provider or of the probe, until an operator stores one. */
export const noKey = 'none'

/** The dependencies of a read of a secret. */
export interface SecretRead {
  settings: Settings
  clock: Clock
  budget: Budget
  /** Whether to read a known secret again, at most every 30 seconds. */
  renew?: boolean
  /** A version other than the current one. */
  version?: string
}

/** One version of a secret. */
export interface SecretVersion {
  text: string
  /** The id of the version in Secrets Manager. */
  version: string
}

/** A key of one version of the deployment's secret. */
export interface VersionedKey {
  key: KeyObject
  version: string
}

/**
 * Derives the key for one purpose from the secret of the deployment (RFC 5869). A leaked key reveals neither other keys
 * nor the secret.
 * @param purpose a name with a version, such as `list cursors v1`
 */
type DeriveKey = (secret: string, purpose: string) => KeyObject

/** Returns a derivation that keeps the keys of the latest secret. Deriving a key takes a twentieth of the CPU of a list. */
export function keyDerivation(): DeriveKey {
  let known = { secret: '', keys: new Map<string, KeyObject>() }
  return (secret, purpose) => {
    if (known.secret !== secret) known = { secret, keys: new Map() }
    const key =
      known.keys.get(purpose) ?? createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', purpose, 32)))
    known.keys.set(purpose, key)
    return key
  }
}

/**
 * Returns a pseudonym of a confidential value: HMAC-SHA-256 in base64url, 43 characters. Equal parts have equal hashes.
 * Without the key, guesses of the value cannot be tested.
 */
export function keyedHash(key: KeyObject, ...parts: readonly string[]): string {
  return createHmac('sha256', key).update(JSON.stringify(parts)).digest('base64url')
}

const cipher = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16

/**
 * Encrypts and authenticates a text (AES-256-GCM), in base64url.
 * @param key 32 bytes, for this purpose only
 * @param associated the associated data; `unseal` requires the same
 */
export function seal(
  key: KeyObject,
  text: string,
  associated: string,
  randomBytes: (length: number) => Uint8Array,
): string {
  const nonce = randomBytes(nonceBytes)
  const sealing = createCipheriv(cipher, key, nonce, { authTagLength: tagBytes }).setAAD(
    Buffer.from(associated),
  )
  const sealed = Buffer.concat([sealing.update(text), sealing.final()])
  return Buffer.concat([nonce, sealed, sealing.getAuthTag()]).toString('base64url')
}

/** Decrypts a text. @throws Error unless it was sealed with this key and data, and no character has changed */
export function unseal(key: KeyObject, sealed: string, associated: string): string {
  const bytes = Buffer.from(sealed, 'base64url')
  if (bytes.toString('base64url') !== sealed) throw new Error('not the canonical form')
  const opening = createDecipheriv(cipher, key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
  opening.setAAD(Buffer.from(associated)).setAuthTag(bytes.subarray(-tagBytes))
  return Buffer.concat([opening.update(bytes.subarray(nonceBytes, -tagBytes)), opening.final()]).toString()
}
