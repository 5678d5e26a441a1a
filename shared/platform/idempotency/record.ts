import { createHash } from 'node:crypto'
import { fail } from '../errors/failure.ts'
import type { Item, Key } from '../table/keys.ts'

/** An answer in the form in which it is sent, stored and replayed, byte for byte. */
export interface Answer {
  status: number
  headers: Record<string, string>
  body: string | undefined
}

/** Who works on a pending record, and until when nobody else does. */
export interface Lease {
  /** Of one request's try: a writer whose answer was lost knows its own lease by it. */
  lease_id: string
  /** Milliseconds since 1970; 0 lets the next request go on at once. */
  lease_until: number
}

/** The record of one Idempotency-Key (contract, 'Idempotency record'). */
export type IdempotencyRecord = Key & {
  payload_hash: string
  /** Seconds since 1970; also the table's TTL attribute. */
  expires_at: number
} & (
    | { state: 'complete' | 'failed'; status: number; headers: Record<string, string>; body?: string }
    | ({ state: 'pending'; resume: Record<string, unknown> } & Lease)
  )

/** An item that lies under a record's key. */
export function asRecord(item: Item): IdempotencyRecord {
  return item as unknown as IdempotencyRecord
}

/** One keyed request: where its record lies and what it must say. */
export interface KeyedRequest {
  key: Key
  payloadHash: string
  /** Seconds since 1970 at which a record made now expires. */
  expiresAt: number
}

/** Keys are unique to a tenant, a principal and a route; hashed, as a key may hold anything. */
export function recordKey(tenant: string, principal: string, operation: string, idempotencyKey: string): Key {
  const scope = JSON.stringify([tenant, principal, operation, idempotencyKey])
  return { pk: `idempotency#${createHash('sha256').update(scope).digest('base64url')}`, sk: 'record' }
}

export function finishedRecord(keyed: KeyedRequest, answer: Answer, state: 'complete' | 'failed'): Item {
  return {
    ...keyed.key,
    payload_hash: keyed.payloadHash,
    expires_at: keyed.expiresAt,
    state,
    status: answer.status,
    headers: answer.headers,
    body: answer.body,
  }
}

export function pendingRecord(keyed: KeyedRequest, resume: Record<string, unknown>, lease: Lease): Item {
  return {
    ...keyed.key,
    payload_hash: keyed.payloadHash,
    expires_at: keyed.expiresAt,
    state: 'pending',
    resume,
    ...lease,
  }
}

/** @throws CONFLICT.idempotency.payload_mismatch when the key was used for something else */
export function checkPayload(record: IdempotencyRecord, keyed: KeyedRequest): void {
  if (record.payload_hash !== keyed.payloadHash) throw fail('CONFLICT.idempotency.payload_mismatch')
}
