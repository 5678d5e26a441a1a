import type { HttpRequest } from '../http/request.ts'
import { isUuidV7 } from '../ids/uuid-v7.ts'
import { keyedHash } from '../secrets/derived-key.ts'

/** The prefix makes browsers refuse it from any other host, and without Secure and Path=/. */
export const sessionCookie = '__Host-session'
/** Read by the client's script, which sends it back in the header of the setting auth.csrf. */
export const csrfCookie = 'csrf_token'

/** What a session's cookie says. */
export interface SessionCredential {
  session_id: string
  secret: string
}

/**
 * The two cookies of a session (contract, 'Authentication'), as values of Set-Cookie.
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
 * The CSRF token of a session: signed with the session's own secret, so that only who knows that can make it, and it is
 * of no use with another session.
 */
export function csrfTokenOf({ session_id, secret }: SessionCredential): string {
  return keyedHash(Buffer.from(secret), 'csrf token v1', session_id)
}

/** The credential of a request's cookie; undefined when there is no such cookie, or it cannot be one. */
export function readSessionCookie(headers: HttpRequest['headers']): SessionCredential | undefined {
  const [session_id = '', secret = ''] = (cookieOf(headers, sessionCookie) ?? '').split('.')
  return isUuidV7(session_id) && /^[\w-]{43}$/.test(secret) ? { session_id, secret } : undefined
}

export function hasSessionCookie(headers: HttpRequest['headers']): boolean {
  return cookieOf(headers, sessionCookie) !== undefined
}

/** The value of a cookie; the first where it is sent twice. */
export function cookieOf(headers: HttpRequest['headers'], name: string): string | undefined {
  const pairs = (headers.cookie ?? '').split(/[;,]/).map((pair) => pair.trim())
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1)
}
