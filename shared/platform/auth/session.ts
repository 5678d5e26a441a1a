import { createHash } from 'node:crypto'
import { timestamp } from '../clock.ts'
import { timeOf } from '../ids/uuid-v7.ts'
import { keyedHash } from '../secrets/derived-key.ts'
import { type Item, type Key, keyOf } from '../table/keys.ts'
import type { Change } from '../table/table.ts'
import { create, type Write } from '../table/writes.ts'

/** A login by one-time code, as it is stored: without what its cookie holds. */
export interface SessionItem extends Key {
  session_id: string
  tenant_id: string
  user_id: string
  /** SHA-256 of its secret. */
  secret_hash: string
  state: 'active' | 'revoked'
  started_at: string
  /** Milliseconds since 1970. */
  valid_until: number
  /** Seconds since 1970; the table deletes later than that. */
  expires_at: number
}

/** The purpose of the key that the secrets of sessions are made with. */
export const sessionKeyPurpose = 'sessions v1'

/**
 * The secret of a session's cookie: 256 bits that nobody can tell without the key. It is made from the session's id and
 * stored nowhere, so that no record holds it and a lost answer can still be given again.
 */
export function sessionSecret(key: Uint8Array, sessionId: string): string {
  return keyedHash(key, sessionId)
}

/** A plain hash is enough: 256 random bits cannot be tried out. */
export function hashOfSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url')
}

/**
 * A session that begins with its id. @param until its end, in milliseconds since 1970
 */
export function sessionOf(
  key: Uint8Array,
  {
    session_id,
    tenant_id,
    user_id,
    until,
  }: { session_id: string; tenant_id: string; user_id: string; until: number },
): SessionItem {
  return {
    ...keyOf(tenant_id, 'session', session_id),
    session_id,
    tenant_id,
    user_id,
    secret_hash: hashOfSecret(sessionSecret(key, session_id)),
    state: 'active',
    started_at: timestamp(timeOf(session_id)),
    valid_until: until,
    expires_at: Math.ceil(until / 1000),
  }
}

export function startSession(session: SessionItem): Write {
  return create(session as SessionItem & Item)
}

/** Ends a session before its time. Refused when there is none, or none that is active. */
export function revokeSession(tenant: string, sessionId: string): Change {
  const update = keyOf(tenant, 'session', sessionId)
  return { update, set: { state: 'revoked' }, condition: { matches: { state: 'active' } } }
}
