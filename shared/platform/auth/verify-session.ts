import { timingSafeEqual } from 'node:crypto'
import type { Settings } from '../../settings/register.ts'
import { fail } from '../errors/failure.ts'
import type { HttpRequest } from '../http/request.ts'
import { keyOf } from '../table/keys.ts'
import type { Table } from '../table/table.ts'
import type { Caller } from './caller.ts'
import { hashOfSecret, type SessionItem } from './session.ts'
import { cookieOf, csrfCookie, csrfTokenOf, readSessionCookie } from './session-cookie.ts'

/** The issuer of this service's sessions, in addition to the issuers of its tokens. */
export const sessionIssuer = 'urn:commerce-api:sessions'

/**
 * Returns the caller of a session: a Viewer, the role with the fewest permissions. It may read the cart of its discount
 * verification, but not change it.
 * @param now milliseconds since 1970; expiry is checked against it, as TTL deletes late
 * @throws AUTH.invalid_credentials if it is unknown, expired or revoked, after the same read
 */
export async function verifySession(
  request: HttpRequest,
  table: Table,
  settings: Settings,
  now: number,
): Promise<Caller> {
  const tenant = settings['auth.publicTenant']
  const credential = readSessionCookie(request.headers)
  if (!credential) throw invalidSession()
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
function invalidSession() {
  const headers = { 'WWW-Authenticate': 'Bearer realm="commerce-api"' }
  return fail('AUTH.invalid_credentials', { headers })
}
