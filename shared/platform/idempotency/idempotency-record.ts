import { createHash } from 'node:crypto'
import { type Clock, newId } from '../base/clock.ts'
import { type Failure, fail } from '../base/failure.ts'
import type { Item, Key } from '../table/keys.ts'
import type { Condition, Table } from '../table/table.ts'

/** Hashes a payload. The order of its keys does not matter. */
export function fingerprint(payload: unknown): string {
  return createHash('sha256').update(canonical(payload)).digest('base64url')
}

/** Returns JSON with sorted keys. The depth of payloads is bounded, so recursion is safe. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, one]) => `${JSON.stringify(key)}:${canonical(one)}`).join(',')}}`
}

/** A response in the form in which it is sent, stored and replayed, byte for byte. */
export interface StoredResponse {
  status: number
  headers: Record<string, string>
  body: string | undefined
}

/** The lease of a pending record: its holder, and its end. */
export interface Lease {
  /** Unique to one attempt of a request. A writer whose response was lost recognizes its own lease by it. */
  lease_id: string
  /** Milliseconds since 1970; 0 lets the next request continue at once. */
  lease_until: number
}

/** What a pending record keeps of its saga. */
export interface RecordedSaga {
  /** The state with which it is executed again. */
  state: Record<string, unknown>
  /**
   * The sort key of its entry among the pending sagas, if the service can finish it. It moves only in a transaction that
   * changes the record, too, so a pending record has exactly one entry.
   */
  entry?: string
}

/** The record of one Idempotency-Key. */
export type IdempotencyRecord = FinishedRecord | PendingRecord

type CommonRecord = Key & {
  payload_hash: string
  first_used_at: string
  /** Seconds since 1970; also the table's TTL attribute. */
  expires_at: number
}

export type FinishedRecord = CommonRecord & {
  state: 'complete' | 'failed'
  status: number
  headers: Record<string, string>
} & StoredBody

export type PendingRecord = CommonRecord & { state: 'pending'; saga: RecordedSaga } & Lease

/** The body is compressed if it is long: a batch response can exceed an item of the table and is repetitive. */
type StoredBody = { body?: string; packed_body?: Uint8Array }

/** The additional lifetime of a pending record that the service can finish: 30 days. */
const pendingSeconds = 30 * 24 * 3600

/** Loaded at its first use, because few bodies are long. */
const zlib = () => process.getBuiltinModule('node:zlib')

/** The length in characters from which a body is compressed. */
const longBody = 4096

/** Casts an item under a record's key. */
export function asIdempotencyRecord(item: Item): IdempotencyRecord {
  return item as unknown as IdempotencyRecord
}

/** A keyed request: the key of its record, and the content that the record must match. */
export interface KeyedRequest {
  key: Key
  payloadHash: string
  /** The time of this request. A record keeps that of the first one. */
  firstUsedAt: string
  /** The expiry of a record that is created now, in seconds since 1970. */
  expiresAt: number
  /** The expiry of the pending record that this request resumes, in seconds since 1970. */
  resumableUntil?: number
  /** The tenant whose data it changes, which an Admin of another one may name. */
  tenant: string
}

/** Returns the key of a record: unique to tenant, principal and route, and hashed because a key may hold anything. */
export function recordKey(tenant: string, principal: string, route: string, idempotencyKey: string): Key {
  const scope = JSON.stringify([tenant, principal, route, idempotencyKey])
  return { pk: `idempotency#${createHash('sha256').update(scope).digest('base64url')}`, sk: 'record' }
}

/** Returns the record of a key that has not expired. */
export async function findIdempotencyRecord({
  keyed,
  table,
  clock,
}: {
  keyed: Pick<KeyedRequest, 'key'>
  table: Table
  clock: Clock
}): Promise<IdempotencyRecord | undefined> {
  const item = await table.get(keyed.key)
  const record = item && asIdempotencyRecord(item)
  return record && record.expires_at > clock.now() / 1000 ? record : undefined
}

export function finishedRecord(
  keyed: KeyedRequest,
  response: StoredResponse,
  state: 'complete' | 'failed',
): Item {
  return {
    ...keyed.key,
    payload_hash: keyed.payloadHash,
    first_used_at: keyed.firstUsedAt,
    expires_at: keyed.expiresAt,
    state,
    status: response.status,
    headers: response.headers,
    ...stored(response.body),
  }
}

function stored(body: string | undefined): StoredBody {
  if (body === undefined) return {}
  return body.length < longBody ? { body } : { packed_body: zlib().gzipSync(body) }
}

/** Returns the response in a record, byte for byte. */
export function storedResponse(record: FinishedRecord): StoredResponse {
  const { status, headers, body, packed_body } = record
  return { status, headers, body: packed_body ? zlib().gunzipSync(packed_body).toString() : body }
}

export function pendingRecord(keyed: KeyedRequest, saga: RecordedSaga, lease: Lease): Item {
  return {
    ...keyed.key,
    payload_hash: keyed.payloadHash,
    first_used_at: keyed.firstUsedAt,
    expires_at: pendingExpiry(keyed, saga),
    state: 'pending',
    saga,
    ...lease,
  }
}

function pendingExpiry(
  { expiresAt, resumableUntil = expiresAt }: KeyedRequest,
  { entry }: RecordedSaga,
): number {
  // Completed rows of a batch expire. A retry under a record that outlives them would execute them again.
  if (entry === undefined) return resumableUntil
  // Money may have moved, so the record must outlive the uncertainty.
  return expiresAt + pendingSeconds
}

/** @throws CONFLICT.idempotency.payload_mismatch when the key was used with another payload */
export function checkPayload(record: IdempotencyRecord, keyed: KeyedRequest): void {
  if (record.payload_hash !== keyed.payloadHash) throw payloadMismatch(record)
}

/** Returns the failure of a request whose key was used with another payload, with the time of that use. */
export function payloadMismatch({ first_used_at }: IdempotencyRecord, cause?: unknown): Failure {
  return fail('CONFLICT.idempotency.payload_mismatch', { details: { first_used_at }, cause })
}

/** Longer than any request, so an expired lease belongs to a crashed one; in milliseconds. */
const leaseMilliseconds = 30_000

export function newLease({ clock }: { clock: Clock }): Lease {
  return { lease_id: newId(clock), lease_until: clock.now() + leaseMilliseconds }
}

/** Returns a lease that nobody owns, so the next request continues at once. */
export function freeLease({ clock }: { clock: Clock }): Lease {
  return { lease_id: newId(clock), lease_until: 0 }
}

/** The condition that a record is still pending under this lease. */
export function ifOwnedBy({ lease_id }: Lease): Condition {
  return { matches: { state: 'pending', lease_id } }
}

/** The condition that there is no record, or an expired one. */
export function ifNewOrExpired({ clock }: { clock: Clock }): Condition {
  return { absentOrExpiredBy: Math.floor(clock.now() / 1000) }
}
