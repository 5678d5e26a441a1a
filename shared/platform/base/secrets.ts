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

/**
 * The secrets that nobody sees, with a key each. Only the functions that seal and open, or hash, the same values share
 * one: a function that is taken over has no other.
 */
export const keyNames = [
  'cursors',
  'one_time_codes',
  'sessions',
  'hashes',
  'codes',
  'mails',
  'resets',
  'subscribers',
] as const
export type KeyName = (typeof keyNames)[number]

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

/** A key of one version of its secret. */
export interface VersionedKey {
  key: KeyObject
  version: string
}

/** The fewest characters of a secret that has a key. */
const minSecretLength = 32

/** Derives a key from its secret (RFC 5869). @throws Error if the secret is too short */
type DeriveKey = (secret: string, name: KeyName) => KeyObject

/** Returns a derivation that keeps the latest key of each name. Deriving a key takes a twentieth of the CPU of a list. */
export function keyDerivation(): DeriveKey {
  const latest = new Map<KeyName, { secret: string; key: KeyObject }>()
  return (secret, name) => {
    const known = latest.get(name)
    if (known?.secret === secret) return known.key
    if (secret.length < minSecretLength) throw new Error(`the secret of the key ${name} is too short`)
    const key = createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', name, 32)))
    latest.set(name, { secret, key })
    return key
  }
}

/**
 * Returns a pseudonym of a confidential value: HMAC-SHA-256 in base64url, 43 characters. Equal parts have equal hashes.
 * Without the key, guesses of the value cannot be tested. If a key has several purposes, the first part names one.
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
