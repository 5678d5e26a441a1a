import type { Settings } from '../../settings/register.ts'
import { Denial, Failure, fail, isRetryable } from '../base/failure.ts'
import type { Intent, Reply } from '../request/reply.ts'
import type { Change, Condition, Put, Table } from '../table/table.ts'
import { type Committer, commit } from './commit.ts'
import { marking, unmarking } from './marker.ts'
import {
  type Answer,
  asRecord,
  checkPayload,
  finishedRecord,
  heldBy,
  type IdempotencyRecord,
  isNew,
  type KeyedRequest,
  type Lease,
  newLease,
  pendingRecord,
  storedAnswer,
  type Unfinished,
} from './record.ts'

/** The input of a keyed request. */
export interface Once extends Committer {
  operation: string
  settings: Settings
  keyed: KeyedRequest
  perform(): Promise<Reply | Intent>
  /** Carries out an intent, or finds its effect already made. */
  proceed(resume: Record<string, unknown>): Promise<Reply>
  /** Checks a reply against its schema and renders it. */
  render(reply: Reply): Answer
  /** Renders the response stored for a request that can never succeed. */
  renderFault(fault: unknown): Answer
  /** Opens the table for writes after an effect, even if the request's time is spent. */
  afterwards(): Table
}

/** The response to a keyed request, and whether it is its own or that of an earlier one. */
export interface OnceAnswer {
  answer: Answer
  status: 'stored' | 'replayed'
}

const pollMilliseconds = 50

/**
 * Runs a request at most once for its key (docs/idempotency.md).
 * - The effect and the record are one transaction: a replay finds the stored response, and nothing happens again.
 * - A transient failure stores nothing, or leaves an intent pending: the same key may be sent again.
 * - A permanent fault is stored as failed and replayed. For an intent that the service can finish, it is not: an
 *   earlier attempt may have made the effect, so the intent stays pending until the outcome is known.
 * - A rejection (4xx) has no effect and is not stored.
 */
export async function runOnce(once: Once): Promise<OnceAnswer> {
  let decision: Reply | Intent
  try {
    decision = await once.perform()
  } catch (thrown) {
    return afterRefusal(once, thrown)
  }
  const lease = newLease(once)
  const ready = (taken: Reply | Intent) => readyOf(once, taken, lease)
  let committed: Awaited<ReturnType<typeof commit<Reply | Intent, Ready>>>
  try {
    committed = await commit(once, decision, ready)
  } catch (thrown) {
    // The intent may be committed although the response was lost.
    if (isRetryable(thrown) && 'resume' in decision)
      await release(once, unfinishedOf(decision, lease), heldBy(lease))
    return afterRefusal(once, thrown)
  }
  if ('existing' in committed) return replay(once, asRecord(committed.existing))
  const { answer, unfinished } = committed.prepared
  return answer ? { answer, status: 'stored' } : finish(once, unfinished, lease)
}

/** A decision that is ready to be committed: its response, or the state with which a retry continues its intent. */
type Ready = { record: Put } & (
  | { answer: Answer; unfinished?: undefined }
  | { answer?: undefined; unfinished: Unfinished; along: readonly Change[] }
)

function readyOf(once: Once, decision: Reply | Intent, lease: Lease): Ready {
  const condition = isNew(once)
  if ('resume' in decision) {
    const unfinished = unfinishedOf(decision, lease)
    const record = { item: pendingRecord(once.keyed, unfinished, lease), condition }
    return { unfinished, record, along: marking(once, unfinished) }
  }
  const answer = once.render(decision)
  return { answer, record: { item: finishedRecord(once.keyed, answer, 'complete'), condition } }
}

/** The marker has the id of the lease under which it is created. */
function unfinishedOf({ resume, finished }: Intent, { lease_id }: Lease): Unfinished {
  return { resume, ...(finished === 'by_itself' && { marker: lease_id }) }
}

/** Handles a rejection. If the first run has succeeded since, its response is replayed. */
async function afterRefusal(once: Once, thrown: unknown): Promise<OnceAnswer> {
  const failure = thrown instanceof Denial ? thrown.failure : thrown
  if (failure instanceof Failure && failure.retryable && failure.http >= 500) throw failure
  const existing = await recall(once)
  if (existing) return replay(once, existing)
  if (failure instanceof Failure) throw thrown
  return storeFault(once, once.table, thrown, isNew(once))
}

/**
 * Makes the effect and commits its outcome if this request still holds the lease. Once the effect is made, nothing is
 * stored as failed any more and the request's time limit is ignored: only a pending record lets a retry record the
 * effect.
 */
async function finish(once: Once, unfinished: Unfinished, lease: Lease): Promise<OnceAnswer> {
  const held = heldBy(lease)
  let outcome: Reply
  try {
    outcome = await once.proceed(unfinished.resume)
  } catch (thrown) {
    const passes = isRetryable(thrown)
    if (!passes && unfinished.marker === undefined) return storeFault(once, once.afterwards(), thrown, held)
    await release(once, unfinished, held)
    throw passes ? thrown : fail('TRANSIENT.error', { cause: thrown })
  }
  try {
    const committed = await commit({ ...once, table: once.afterwards() }, outcome, (taken) => {
      const answer = once.render(taken)
      const record = { item: finishedRecord(once.keyed, answer, 'complete'), condition: held }
      return { answer, record, along: unmarking(unfinished) }
    })
    if ('existing' in committed) return replay(once, asRecord(committed.existing))
    return { answer: committed.prepared.answer, status: 'stored' }
  } catch (thrown) {
    await release(once, unfinished, held)
    throw isRetryable(thrown) ? thrown : fail('TRANSIENT.error', { cause: thrown })
  }
}

/** Lets the next attempt continue at once. If this fails too, the lease expires; the first failure is returned. */
async function release(once: Once, unfinished: Unfinished, held: Condition): Promise<void> {
  const free = { ...newLease(once), lease_until: 0 }
  await once
    .afterwards()
    .put({ item: pendingRecord(once.keyed, unfinished, free), condition: held })
    .catch(() => undefined)
}

async function storeFault(
  once: Once,
  table: Table,
  thrown: unknown,
  condition: Condition,
): Promise<OnceAnswer> {
  const answer = once.renderFault(thrown)
  const refusal = await table.put({ item: finishedRecord(once.keyed, answer, 'failed'), condition })
  if (!refusal?.existing) return { answer, status: 'stored' }
  return replay(once, asRecord(refusal.existing))
}

/** Responds from the record of an earlier request: waits for it, or takes it over once its lease has expired. */
async function replay(once: Once, existing: IdempotencyRecord): Promise<OnceAnswer> {
  const { waitSeconds, status } = once.settings['idempotency.whilePending']
  const patience = once.clock.now() + waitSeconds * 1000
  for (let record: IdempotencyRecord | undefined = existing; record; record = await recall(once)) {
    checkPayload(record, once.keyed)
    if (record.state !== 'pending') {
      return { answer: storedAnswer(record), status: 'replayed' }
    }
    if (record.lease_until <= once.clock.now()) return takeOver(once, record)
    if (once.clock.now() >= patience) break
    await once.clock.sleep(pollMilliseconds)
  }
  throw fail(status === 409 ? 'CONFLICT.idempotency.in_progress' : 'DEPENDENCY.unavailable')
}

/** Continues an intent that an earlier request left unfinished; it is never started again. */
export async function takeOver(
  once: Once,
  record: IdempotencyRecord & { state: 'pending' },
): Promise<OnceAnswer> {
  const lease = newLease(once)
  const refusal = await once.table.put({
    item: pendingRecord(once.keyed, record, lease),
    condition: { matches: { state: 'pending', lease_id: record.lease_id } },
  })
  const holder = refusal?.existing && asRecord(refusal.existing)
  if (refusal && !holder) throw fail('TRANSIENT.error')
  const mine = !holder || (holder.state === 'pending' && holder.lease_id === lease.lease_id)
  return mine ? finish(once, record, lease) : replay(once, holder)
}

/** Replays an earlier request with the same key and payload; undefined if there was none. */
export async function replayEarlier(once: Once): Promise<OnceAnswer | undefined> {
  const record = await recall(once)
  return record?.payload_hash === once.keyed.payloadHash ? replay(once, record) : undefined
}

export async function recall(once: Once): Promise<IdempotencyRecord | undefined> {
  const item = await once.table.get(once.keyed.key)
  const record = item && asRecord(item)
  return record && record.expires_at > once.clock.now() / 1000 ? record : undefined
}
