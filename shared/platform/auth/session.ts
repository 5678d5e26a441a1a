import { createHash } from 'node:crypto'
import { timestamp } from '../clock.ts'
import { timeOf } from '../ids/uuid-v7.ts'
import { keyedHash } from '../secrets/derived-key.ts'
import { type Item, type Key, keyOf } from '../table/keys.ts'
import type { Change } from '../table/table.ts'
import { create, type Write } from '../table/writes.ts'

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

/** The purpose of the key from which session secrets are derived. */
export const sessionKeyPurpose = 'sessions v1'

/**
 * Derives the secret of a session's cookie from the session id: 256 bits, unpredictable without the key. It is never
 * stored: no record contains it, and a lost response can still be repeated.
 */
export function sessionSecret(key: Uint8Array, sessionId: string): string {
  return keyedHash(key, sessionId)
}

/** Hashes a secret. A fast hash suffices: 256 random bits cannot be guessed. */
export function hashOfSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url')
}

/**
 * Returns a session that starts at the time of its id. @param until its end, in milliseconds since 1970
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

/** Revokes a session. Rejected unless the session exists and is active. */
export function revokeSession(tenant: string, sessionId: string): Change {
  const update = keyOf(tenant, 'session', sessionId)
  return { update, set: { state: 'revoked' }, condition: { matches: { state: 'active' } } }
}
