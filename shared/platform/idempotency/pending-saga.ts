import { type Clock, timeOf } from '../base/clock.ts'
import type { Correlation } from '../base/correlation.ts'
import { entryAt, type Item, idOfEntry, type Key, pendingKeyOf } from '../table/keys.ts'
import { type DueEntry, laterEntry, retryPauses } from '../table/pending-entries.ts'
import type { Change, Table } from '../table/table.ts'
import {
  asIdempotencyRecord,
  freeLease,
  type IdempotencyRecord,
  ifOwnedBy,
  type KeyedRequest,
  type PendingRecord,
  type RecordedSaga,
} from './idempotency-record.ts'

/**
 * The entry of a saga that the service can finish. It exists from the transaction that commits the start to the one
 * that commits the outcome, so pending sagas are found without a scan. Its idempotency record holds its sort key, and it
 * moves only with the record: a pending record has exactly one entry.
 */
export interface SagaEntry extends DueEntry {
  operation: string
  /** The key of its idempotency record. */
  record: Key
  payload_hash: string
  correlation_id: string
}

type SagaRun = { operation: string; keyed: KeyedRequest; correlation: Correlation }

/** Requests may still be working on younger sagas. */
const requestMilliseconds = 60_000

/** Returns the sort key of the entry of a new saga. @param id that of the first lease */
export function firstSagaEntry(id: string): string {
  return entryAt(timeOf(id) + requestMilliseconds, id)
}

/** Returns a saga whose entry is due after a pause that grows with its age. */
export function withLaterEntry(saga: RecordedSaga, now: number, pauses = retryPauses): RecordedSaga {
  const { entry } = saga
  return entry === undefined ? saga : { ...saga, entry: laterEntry(entry, now, pauses) }
}

/** Returns the change that adds the entry of a saga, if the service can finish it. */
export function addSagaEntry({ operation, keyed, correlation }: SagaRun, { entry }: RecordedSaga): Change[] {
  if (entry === undefined) return []
  const item: SagaEntry & Item = {
    ...pendingKeyOf('pending-saga', entry),
    operation,
    record: keyed.key,
    payload_hash: keyed.payloadHash,
    correlation_id: correlation.id,
    tenant: keyed.tenant,
  }
  return [{ item, condition: 'none' }]
}

/** Returns the change that removes an entry. Another process may have removed it already. */
export function removeSagaEntry({ entry }: Pick<RecordedSaga, 'entry'>): Change[] {
  return entry === undefined ? [] : [{ remove: pendingKeyOf('pending-saga', entry), condition: 'none' }]
}

/** Returns the changes that move the entry of a saga. */
export function moveSagaEntry(run: SagaRun, from: RecordedSaga, to: RecordedSaga): Change[] {
  return from.entry === to.entry ? [] : [...removeSagaEntry(from), ...addSagaEntry(run, to)]
}

/** Returns whether an entry is that of a pending record. */
export function isEntryOf(
  { sk }: Pick<SagaEntry, 'sk'>,
  record: IdempotencyRecord | undefined,
): record is PendingRecord {
  return record?.state === 'pending' && record.saga.entry === sk
}

/**
 * Makes a pending saga due now, unless a run owns its lease. A run that owned an expired one loses it. Removes the entry of
 * a saga that has ended.
 */
export async function hastenSaga(
  entry: SagaEntry,
  { table, clock }: { table: Table; clock: Clock },
): Promise<void> {
  const item = await table.get(entry.record)
  const record = item && asIdempotencyRecord(item)
  const old = removeSagaEntry({ entry: entry.sk })
  if (!isEntryOf(entry, record)) {
    await table.transact(old)
    return
  }
  const now = clock.now()
  const sk = entryAt(now, idOfEntry(entry.sk))
  if (record.lease_until > now || entry.sk <= sk) return
  const saga = { ...record.saga, entry: sk }
  await table.transact([
    { item: { ...record, ...freeLease({ clock }), saga }, condition: ifOwnedBy(record) },
    ...old,
    { item: { ...entry, ...pendingKeyOf('pending-saga', sk) }, condition: 'none' },
  ])
}
