import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Settings } from '../../settings/register.ts'
import { type Failure, fail } from '../errors/failure.ts'
import type { HttpRequest } from '../http/request.ts'

/** More than any sender has under way at once while it changes its key. */
const mostSignatures = 16

/**
 * Verifies that a body comes from a holder of one of the keys, unchanged and now (contract, 'Delivery rules'): the
 * signature is an HMAC over `id.timestamp.body`, of the body's very bytes.
 * @param secret the keys in base64, with or without the prefix whsec_, separated by spaces
 * @param now milliseconds since 1970
 * @throws AUTH.invalid_credentials, whatever is wrong
 */
export function verifySignature(request: HttpRequest, secret: string, settings: Settings, now: number): void {
  const { idHeader, timestampHeader, signatureHeader, digest, prefix } = settings['webhooks.scheme']
  const header = (name: string) => request.headers[name.toLowerCase()] ?? ''
  const [id, timestamp] = [header(idHeader), header(timestampHeader)]
  if (!/^[\x21-\x7e]{1,255}$/.test(id) || !/^[0-9]{1,11}$/.test(timestamp)) throw invalidSignature()
  if (Math.abs(now / 1000 - Number(timestamp)) > settings['webhooks.windowSeconds']) throw invalidSignature()
  const given = header(signatureHeader)
    .split(' ')
    .slice(0, mostSignatures)
    .flatMap((one) => (one.startsWith(prefix) ? [Buffer.from(one.slice(prefix.length), 'base64')] : []))
  // Every pair is compared, so that the time tells nothing of which key or signature was close.
  const matching = keysOf(secret).flatMap((key) => {
    const expected = createHmac(digest, key)
      .update(`${id}.${timestamp}.`)
      .update(request.body ?? '')
      .digest()
    return given.filter((one) => one.length === expected.length && timingSafeEqual(one, expected))
  })
  if (matching.length === 0) throw invalidSignature()
}

function keysOf(secret: string): Buffer[] {
  const keys = secret.split(/[\s,]+/).filter(Boolean)
  if (keys.length === 0) throw new Error('there is no key to verify webhooks with')
  return keys.map((key) => Buffer.from(key.replace(/^whsec_/, ''), 'base64'))
}

function invalidSignature(): Failure {
  return fail('AUTH.invalid_credentials', {
    headers: { 'WWW-Authenticate': 'Signature realm="commerce-api"' },
  })
}
