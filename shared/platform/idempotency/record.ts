import { createHash } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
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

/** What a pending record keeps of its intent. */
export interface Unfinished {
  resume: Record<string, unknown>
  /** The id of its marker, where the service finishes it by itself. */
  marker?: string
}

/** The record of one Idempotency-Key (contract, 'Idempotency record'). */
export type IdempotencyRecord = Key & {
  payload_hash: string
  /** Seconds since 1970; also the table's TTL attribute. */
  expires_at: number
} & (
    | ({ state: 'complete' | 'failed'; status: number; headers: Record<string, string> } & StoredBody)
    | ({ state: 'pending' } & Unfinished & Lease)
  )

/** The answer to a batch can be larger than an item of the table, and says nearly the same of every row. */
type StoredBody = { body?: string; packed_body?: Uint8Array }

/** How much longer the record of an intent is kept that the service finishes by itself: 30 days. */
const unfinishedSeconds = 30 * 24 * 3600

/** From this many characters a body is stored packed. */
const longBody = 4096

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
    ...stored(answer.body),
  }
}

function stored(body: string | undefined): StoredBody {
  if (body === undefined) return {}
  return body.length < longBody ? { body } : { packed_body: gzipSync(body) }
}

/** The answer that a record holds, byte for byte. */
export function storedAnswer(record: IdempotencyRecord & { state: 'complete' | 'failed' }): Answer {
  const { status, headers, body, packed_body } = record
  return { status, headers, body: packed_body ? gunzipSync(packed_body).toString() : body }
}

export function pendingRecord(keyed: KeyedRequest, { resume, marker }: Unfinished, lease: Lease): Item {
  return {
    ...keyed.key,
    payload_hash: keyed.payloadHash,
    // Money that may have moved is not forgotten before it is known what became of it.
    expires_at: keyed.expiresAt + (marker === undefined ? 0 : unfinishedSeconds),
    state: 'pending',
    resume,
    ...(marker !== undefined && { marker }),
    ...lease,
  }
}

/** @throws CONFLICT.idempotency.payload_mismatch when the key was used for something else */
export function checkPayload(record: IdempotencyRecord, keyed: KeyedRequest): void {
  if (record.payload_hash !== keyed.payloadHash) throw fail('CONFLICT.idempotency.payload_mismatch')
}
