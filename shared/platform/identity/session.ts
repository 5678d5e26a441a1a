import { createHash, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { Settings } from '../../settings/register.ts'
import { isId, timeOf, timestamp } from '../base/clock.ts'
import { type Details, fail } from '../base/failure.ts'
import type { HttpRequest } from '../base/http.ts'
import { keyedHash } from '../base/secrets.ts'
import { type Item, type Key, keyOf } from '../table/keys.ts'
import { type Change, create, type Table, type Write } from '../table/table.ts'
import type { Caller } from './caller.ts'

/** The stored session of a login by one-time code, without the secret of its cookie. */
export interface SessionItem extends Key {
  session_id: string
  tenant_id: string
  user_id: string
  /** SHA-256 of the secret. */
  secret_hash: string
  state: 'active' | 'revoked'
  started_at: string
  /** Milliseconds since 1970. */
  valid_until: number
  /** Seconds since 1970, for TTL, which deletes late. */
  expires_at: number
}

/** What the secret of a session depends on besides the key. */
interface SessionSource {
  session_id: string
  /** What its login sent: the address and the code. Who only knows the id, which events publish, gets no cookie for it. */
  login: readonly string[]
}

/**
 * Derives the secret of a session's cookie: 256 bits, unpredictable without the key. It is never stored: no idempotency
 * record contains it, and a lost response can still be repeated.
 */
export function sessionSecret(key: KeyObject, { session_id, login }: SessionSource): string {
  return keyedHash(key, session_id, ...login)
}

/** Hashes a secret. A fast hash suffices: 256 random bits cannot be guessed. */
function hashOfSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url')
}

/**
 * Returns a session that starts at the time of its id. @param until its end, in milliseconds since 1970
 */
export function sessionOf(
  key: KeyObject,
  {
    session_id,
    login,
    tenant_id,
    user_id,
    until,
  }: SessionSource & { tenant_id: string; user_id: string; until: number },
): SessionItem {
  return {
    ...keyOf(tenant_id, 'session', session_id),
    session_id,
    tenant_id,
    user_id,
    secret_hash: hashOfSecret(sessionSecret(key, { session_id, login })),
    state: 'active',
    started_at: timestamp(timeOf(session_id)),
    valid_until: until,
    expires_at: Math.ceil(until / 1000),
  }
}

export function startSession(session: SessionItem): Write {
  return create(session as SessionItem & Item)
}

/** Revokes a session. Rejected unless the session exists and is active. */
export function revokeSession(tenant: string, sessionId: string): Change {
  const update = keyOf(tenant, 'session', sessionId)
  return { update, set: { state: 'revoked' }, condition: { matches: { state: 'active' } } }
}

/** With this prefix, browsers reject the cookie from any other host and without Secure and Path=/. */
export const sessionCookie = '__Host-session'
/** The client's script reads it and sends it back in the header of the setting auth.csrf. */
export const csrfCookie = 'csrf_token'

/** The content of a session cookie. */
interface SessionCredential {
  session_id: string
  secret: string
}

/**
 * Returns the two cookies of a session as values of Set-Cookie.
 * @param seconds how long the browser keeps them
 */
export function sessionCookies(credential: SessionCredential, seconds: number): string[] {
  const { session_id, secret } = credential
  const attributes = `Max-Age=${seconds}; Path=/; Secure; SameSite=Lax`
  return [
    `${sessionCookie}=${session_id}.${secret}; ${attributes}; HttpOnly`,
    `${csrfCookie}=${csrfTokenOf(credential)}; ${attributes}`,
  ]
}

/**
 * Returns the CSRF token of a session: an HMAC with the session's secret. Only a holder of that secret can create it,
 * and it is invalid for any other session.
 */
export function csrfTokenOf({ session_id, secret }: SessionCredential): string {
  return keyedHash(createSecretKey(secret, 'utf8'), 'csrf token v1', session_id)
}

/** Returns the credential in the session cookie; undefined if the cookie is absent or malformed. */
export function readSessionCookie(headers: HttpRequest['headers']): SessionCredential | undefined {
  // Exactly two parts: with more, the web ACL would count each spelling of one session as another credential.
  const [session_id = '', secret = '', ...more] = (cookieOf(headers, sessionCookie) ?? '').split('.')
  if (more.length > 0) return undefined
  return isId(session_id) && /^[\w-]{43}$/.test(secret) ? { session_id, secret } : undefined
}

/** Returns the value of a cookie; the first one if it is sent twice. */
export function cookieOf(headers: HttpRequest['headers'], name: string): string | undefined {
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim())
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1)
}

/** The issuer of this service's sessions, in addition to the issuers of its tokens. */
export const sessionIssuer = 'urn:commerce-api:sessions'

/**
 * Returns the caller of a session: a Viewer, the role with the fewest permissions. It may read the cart of its discount
 * verification, but not change it.
 * @param now milliseconds since 1970; expiry is checked against it, as TTL deletes late
 * @throws AUTH.invalid_credentials if it is unknown, expired or revoked, after the same read; names the cookie if there is
 * none, because clients silently drop a Secure cookie on http
 */
export async function verifySession(
  request: HttpRequest,
  table: Table,
  settings: Settings,
  now: number,
): Promise<Caller> {
  const tenant = settings['auth.publicTenant']
  const credential = readSessionCookie(request.headers)
  if (!credential) {
    const isMissing = cookieOf(request.headers, sessionCookie) === undefined
    throw invalidSession(isMissing ? { missing_cookie: sessionCookie } : {})
  }
  const { session_id, secret } = credential
  const found = (await table.get(keyOf(tenant, 'session', session_id))) as SessionItem | undefined
  const given = hashOfSecret(secret)
  const equal = same(given, found?.secret_hash ?? '-'.repeat(given.length))
  if (!found || !equal || found.state !== 'active' || now > found.valid_until) throw invalidSession()
  const claims = { iss: sessionIssuer, sub: found.user_id, sid: session_id }
  return { sub: found.user_id, tenant, role: 'Viewer', scopes: new Set(), claims }
}

/**
 * Rejects cross-site requests of a session, except GET and HEAD. The session's CSRF token must be in the header and in
 * its cookie, and the browser's origin must be the service's own or an allowed one.
 * @throws AUTHZ.csrf.origin, AUTHZ.csrf.token with the status of the setting
 */
export function checkCsrf(request: HttpRequest, caller: Caller | undefined, settings: Settings): void {
  if (caller?.claims.iss !== sessionIssuer || /^(GET|HEAD)$/.test(request.method)) return
  const { header, status: http } = settings['auth.csrf']
  if (!comesFromHere(request.headers, settings)) throw fail('AUTHZ.csrf.origin', { http })
  const credential = readSessionCookie(request.headers)
  const given = [request.headers[header.toLowerCase()], cookieOf(request.headers, csrfCookie)]
  const expected = credential && csrfTokenOf(credential)
  if (!expected || !given.every((token) => same(token ?? '', expected))) {
    throw fail('AUTHZ.csrf.token', { http })
  }
}

/** Returns whether the origin is the service's own or allowed. Clients other than browsers send neither header. */
function comesFromHere({ origin, 'sec-fetch-site': site }: HttpRequest['headers'], settings: Settings) {
  if (site === 'same-origin') return true
  if (origin !== undefined) return settings['cors.allowedOrigins'].includes(origin)
  return site === undefined || site === 'none'
}

function same(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}

/** Names the Bearer scheme, the alternative to a session that every operation accepts. */
function invalidSession(details: Details = {}) {
  return fail('AUTH.invalid_credentials', { challenge: 'Bearer realm="commerce-api"', details })
}
