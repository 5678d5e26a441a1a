import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Settings } from '../../settings/register.ts'
import { ConfigurationError, Failure, fail } from '../base/failure.ts'
import type { HttpRequest } from '../base/http.ts'

/** More than any sender sends while it rotates its key. */
const maxSignatures = 16

/** Returns the known secret, or reads it again. */
type ReadSecret = (options?: { renew: true }) => Promise<string>

/**
 * Verifies that a body comes from a holder of one of the keys, is unmodified and recent. The signature is an HMAC over
 * `id.timestamp.body`, with the raw bytes of the body.
 * @param readSecret see `signingKeys`
 * @param now milliseconds since 1970
 * @throws AUTH.invalid_credentials for any problem with the request; the error of a read
 */
export function verifySender(
  request: HttpRequest,
  readSecret: ReadSecret,
  settings: Settings,
  now: number,
): Promise<void> {
  return verifyBySecret(readSecret, (secret) => hasKnownSignature(request, secret, settings, now))
}

/**
 * Verifies a request by a secret. A signature of an unknown key may be one of a key that was just stored, so the secret is
 * read again before the request is rejected.
 * @param isSigned returns whether the request is signed with a key of this secret
 * @throws AUTH.invalid_credentials if it is not; the error of a read
 */
export async function verifyBySecret(
  readSecret: ReadSecret,
  isSigned: (secret: string) => boolean,
): Promise<void> {
  const known = await readSecret()
  if (isSigned(known)) return
  const current = await readSecret({ renew: true }).catch(byUnknownSignature)
  if (current === known || !isSigned(current)) throw invalidSignature()
}

/** Throws the failure of a renewal. Anyone can send unknown signatures while the secret cannot be read. */
function byUnknownSignature(cause: unknown): never {
  throw cause instanceof Failure ? fail(cause.code, { cause, causedByCaller: true }) : cause
}

/** @throws AUTH.invalid_credentials if the request is not recent, or has no id */
function hasKnownSignature(request: HttpRequest, secret: string, settings: Settings, now: number): boolean {
  const { idHeader, timestampHeader, signatureHeader, digest, prefix } = settings['webhooks.scheme']
  const header = (name: string) => request.headers[name.toLowerCase()] ?? ''
  const [id, timestamp] = [header(idHeader), header(timestampHeader)]
  if (!/^[\x21-\x7e]{1,255}$/.test(id) || !/^[0-9]{1,11}$/.test(timestamp)) throw invalidSignature()
  if (Math.abs(now / 1000 - Number(timestamp)) > settings['webhooks.windowSeconds']) throw invalidSignature()
  const given = header(signatureHeader)
    .split(' ')
    .slice(0, maxSignatures)
    .flatMap((one) => (one.startsWith(prefix) ? [Buffer.from(one.slice(prefix.length), 'base64')] : []))
  // Every pair is compared: the timing must not reveal which key or signature was close.
  const matching = signingKeys(secret).flatMap((key) => {
    const expected = signatureOf(key, { id, timestamp, body: request.body ?? '' }, digest)
    return given.filter((one) => one.length === expected.length && timingSafeEqual(one, expected))
  })
  return matching.length > 0
}

/** Returns the signature of a body: an HMAC over `id.timestamp.body`. @param timestamp seconds since 1970 */
export function signatureOf(
  key: Buffer,
  { id, timestamp, body }: { id: string; timestamp: string; body: string | Uint8Array },
  digest: Settings['webhooks.scheme']['digest'],
): Buffer {
  return createHmac(digest, key).update(`${id}.${timestamp}.`).update(body).digest()
}

/**
 * Returns the keys of the webhook secret, in order. Accepts exact base64 only: libraries decode malformed base64
 * differently, and anyone can sign with an empty key.
 * @param secret the keys in base64, with or without the prefix whsec_, separated by spaces
 * @throws ConfigurationError
 */
export function signingKeys(secret: string): Buffer[] {
  const texts = secret.split(/[\s,]/).filter(Boolean)
  if (texts.length === 0) throw new ConfigurationError('the webhook secret holds no key')
  return texts.map((text, index) => {
    const encoded = text.replace(/^whsec_/, '')
    const key = Buffer.from(encoded, 'base64')
    if (key.length > 0 && withoutPadding(key.toString('base64')) === withoutPadding(encoded)) return key
    const which = `key ${index + 1} of ${texts.length}`
    throw new ConfigurationError(`${which} in the webhook secret is not base64: store it again`)
  })
}

function withoutPadding(base64: string): string {
  return base64.replace(/={1,2}$/, '')
}

function invalidSignature(): Failure {
  return fail('AUTH.invalid_credentials', { challenge: 'Signature realm="commerce-api"' })
}
