import type { HttpRequest } from '../http/request.ts'
import { isUuidV7 } from '../ids/uuid-v7.ts'
import { keyedHash } from '../secrets/derived-key.ts'

/** With this prefix, browsers reject the cookie from any other host and without Secure and Path=/. */
export const sessionCookie = '__Host-session'
/** The client's script reads it and sends it back in the header of the setting auth.csrf. */
export const csrfCookie = 'csrf_token'

/** The content of a session cookie. */
export interface SessionCredential {
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
  return keyedHash(Buffer.from(secret), 'csrf token v1', session_id)
}

/** Returns the credential in the session cookie; undefined if the cookie is absent or malformed. */
export function readSessionCookie(headers: HttpRequest['headers']): SessionCredential | undefined {
  const [session_id = '', secret = ''] = (cookieOf(headers, sessionCookie) ?? '').split('.')
  return isUuidV7(session_id) && /^[\w-]{43}$/.test(secret) ? { session_id, secret } : undefined
}

export function hasSessionCookie(headers: HttpRequest['headers']): boolean {
  return cookieOf(headers, sessionCookie) !== undefined
}

/** Returns the value of a cookie; the first one if it is sent twice. */
export function cookieOf(headers: HttpRequest['headers'], name: string): string | undefined {
  const pairs = (headers.cookie ?? '').split(/[;,]/).map((pair) => pair.trim())
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1)
}
