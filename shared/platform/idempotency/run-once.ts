import { Denial, Failure, fail, isRetryable, toFailure } from '../base/failure.ts'
import { type Item, idOfEntry } from '../table/keys.ts'
import { isRefusedLongerThanADay, longPauses } from '../table/pending-entries.ts'
import type { Change, Condition, Refusal, Table } from '../table/table.ts'
import { commitDecision } from './commit-decision.ts'
import type { Decision, KeyedRun, Run, Saga, SagaStart } from './decision.ts'
import {
  asIdempotencyRecord,
  checkPayload,
  findIdempotencyRecord,
  finishedRecord,
  freeLease,
  type IdempotencyRecord,
  ifNewOrExpired,
  ifOwnedBy,
  type Lease,
  newLease,
  type PendingRecord,
  pendingRecord,
  type RecordedSaga,
  type StoredResponse,
  storedResponse,
} from './idempotency-record.ts'
import {
  addSagaEntry,
  firstSagaEntry,
  moveSagaEntry,
  removeSagaEntry,
  withLaterEntry,
} from './pending-saga.ts'

/** A response, and whether it is the request's own or that of an earlier one with its key. */
export interface Outcome {
  response: StoredResponse
  /** Absent without a key. */
  status?: 'stored' | 'replayed'
  /** The failure that the response reports; absent from replays. */
  failure?: Failure | undefined
}

const pollMilliseconds = 50

/** Runs an operation without a key. Each of its decisions is still one transaction. */
export async function runWithoutKey(run: Run): Promise<Outcome> {
  let decision = await run.decide()
  if ('state' in decision) {
    // Without a key, nothing can be resumed: the start is committed and executed at once.
    const { state } = decision
    const saga = sagaOf(run)
    await commitDecision(run, saga.start(state), () => ({ result: undefined }))
    decision = await saga.outcome(state, await saga.execute(state))
  }
  const committed = await commitDecision(run, decision, (current) => ({
    result: outcomeOfDecision(run, current),
  }))
  if ('existing' in committed) throw new Error('a decision without a guard has no existing item')
  return committed.result
}

/**
 * Runs an operation at most once for its key (docs/idempotency.md).
 * - The effect and the record are one transaction: a replay finds the stored response, and nothing happens again.
 * - A transient failure stores nothing, or leaves a saga pending: the same key may be sent again.
 * - A permanent fault is stored as failed and replayed. For a saga that the service can finish, it is not: an earlier
 *   attempt may have made the effect, so the saga stays pending until the outcome is known.
 * - A rejection (4xx) that is thrown has no effect and is not stored. One that is a decision is stored with its effects.
 */
export async function runOnce(run: KeyedRun): Promise<Outcome> {
  let decision: Decision | SagaStart
  try {
    decision = await run.decide()
  } catch (thrown) {
    return afterRejection(run, thrown)
  }
  return 'state' in decision ? startSaga(run, decision.state) : storeDecision(run, decision)
}

/** Returns the outcome of a decision once it is committed. */
function outcomeOfDecision({ render }: Pick<Run, 'render'>, decision: Decision): Outcome {
  return { response: render(decision), failure: decision.failure }
}

async function storeDecision(run: KeyedRun, decision: Decision): Promise<Outcome> {
  const condition = ifNewOrExpired(run)
  let stored: Stored
  try {
    stored = await commitWithRecord(run, decision, { condition })
  } catch (thrown) {
    return afterRejection(run, thrown)
  }
  return 'existing' in stored ? replay(run, asIdempotencyRecord(stored.existing)) : stored.result
}

type Stored = { result: Outcome } | { existing: Item }

/**
 * Commits a decision with its completed record.
 * @param condition that of the record
 */
function commitWithRecord(
  run: KeyedRun,
  decision: Decision,
  { condition, others = [] }: { condition: Condition; others?: readonly Change[] },
): Promise<Stored> {
  return commitDecision(run, decision, (current) => {
    const outcome = outcomeOfDecision(run, current)
    const item = finishedRecord(run.keyed, outcome.response, 'complete')
    return { result: { ...outcome, status: 'stored' }, guard: { item, condition }, others }
  })
}

async function startSaga(run: KeyedRun, state: object): Promise<Outcome> {
  const saga = sagaOf(run)
  const lease = newLease(run)
  // The entry of the pending saga has the id of the lease under which it is created.
  const entry = saga.finishedBy === 'service' ? { entry: firstSagaEntry(lease.lease_id) } : {}
  const recorded = { state: { ...(saga.recorded?.(state) ?? state) }, ...entry }
  const changes = {
    guard: { item: pendingRecord(run.keyed, recorded, lease), condition: ifNewOrExpired(run) },
    others: addSagaEntry(run, recorded),
  }
  let started: Awaited<ReturnType<typeof commitDecision>>
  try {
    started = await commitDecision(run, saga.start(state), () => ({ result: undefined, ...changes }))
  } catch (thrown) {
    // The start may be committed although the response was lost.
    if (isRetryable(thrown)) await endLease(run, recorded, lease)
    return afterRejection(run, thrown)
  }
  if ('existing' in started) return replay(run, asIdempotencyRecord(started.existing))
  return finish(run, recorded, lease, state)
}

/** Handles a rejection. If an earlier run has succeeded since, its response is replayed. */
async function afterRejection(run: KeyedRun, thrown: unknown): Promise<Outcome> {
  const failure = thrown instanceof Denial ? thrown.failure : thrown
  if (failure instanceof Failure && failure.retryable && failure.http >= 500) throw failure
  const existing = await findIdempotencyRecord(run)
  if (existing) return replay(run, existing)
  if (failure instanceof Failure) throw thrown
  return storeFault(run, run.table, thrown, ifNewOrExpired(run))
}

/**
 * Makes the effect and commits its outcome if this run still owns the lease. Once the effect is made, nothing is
 * stored as failed any more and the request's time limit is ignored: only a pending record lets a retry record the
 * effect.
 */
async function finish(run: KeyedRun, recorded: RecordedSaga, lease: Lease, state: object): Promise<Outcome> {
  const owned = ifOwnedBy(lease)
  const saga = sagaOf(run)
  let isExecuted = false
  let stored: Stored
  try {
    const effect = await saga.execute(state)
    isExecuted = true
    const outcome = await saga.outcome(state, effect)
    const late = { ...run, table: run.tableForOutcome() }
    stored = await commitWithRecord(late, outcome, { condition: owned, others: removeSagaEntry(recorded) })
  } catch (thrown) {
    const isTransient = isRetryable(thrown)
    if (!isExecuted && !isTransient && recorded.entry === undefined) {
      return storeFault(run, run.tableForOutcome(), thrown, owned)
    }
    await endLease(run, recorded, lease, thrown)
    throw isTransient ? thrown : fail('TRANSIENT.error', { cause: thrown })
  }
  return 'existing' in stored ? replay(run, asIdempotencyRecord(stored.existing)) : stored.result
}

function sagaOf({ saga, operation }: Pick<Run, 'saga' | 'operation'>): Saga {
  if (!saga) throw new Error(`${operation} has no saga`)
  return saga
}

/**
 * Lets the next attempt continue at once. If this fails too, the lease expires; the first failure is returned. The service
 * itself tries a saga again after almost a day if it was refused for a day.
 */
async function endLease(run: KeyedRun, saga: RecordedSaga, lease: Lease, thrown?: unknown): Promise<void> {
  const now = run.clock.now()
  const isParked = saga.entry !== undefined && isRefusedLongerThanADay(thrown, idOfEntry(saga.entry), now)
  const to = {
    saga: isParked ? withLaterEntry(saga, now, longPauses) : saga,
    lease: freeLease(run),
  }
  await replacePending({ ...run, table: run.tableForOutcome() }, { saga, lease }, to).catch(() => undefined)
}

async function storeFault(
  run: KeyedRun,
  table: Table,
  thrown: unknown,
  condition: Condition,
): Promise<Outcome> {
  const failure = toFailure(thrown)
  const response = run.render({ status: failure.http, failure })
  const refusal = await table.put({ item: finishedRecord(run.keyed, response, 'failed'), condition })
  if (refusal?.existing) return replay(run, asIdempotencyRecord(refusal.existing))
  return { response, failure, status: 'stored' }
}

/** Responds from the record of an earlier run: waits for it, or takes it over once its lease has expired. */
async function replay(run: KeyedRun, existing: IdempotencyRecord): Promise<Outcome> {
  const { waitSeconds, status } = run.settings['idempotency.whilePending']
  const waitUntil = run.clock.now() + waitSeconds * 1000
  for (
    let record: IdempotencyRecord | undefined = existing;
    record;
    record = await findIdempotencyRecord(run)
  ) {
    checkPayload(record, run.keyed)
    if (record.state !== 'pending') return { response: storedResponse(record), status: 'replayed' }
    if (record.lease_until <= run.clock.now()) return takeOver(run, record)
    if (run.clock.now() >= waitUntil) break
    await run.clock.sleep(pollMilliseconds)
  }
  const code = status === 409 ? 'CONFLICT.idempotency.in_progress' : 'DEPENDENCY.unavailable'
  throw fail(code, { causedByCaller: true })
}

/** Continues a saga that an earlier run left pending; it is never started again. */
export async function takeOver(later: KeyedRun, record: PendingRecord): Promise<Outcome> {
  const { first_used_at: firstUsedAt, expires_at: resumableUntil } = record
  const run = { ...later, keyed: { ...later.keyed, firstUsedAt, resumableUntil } }
  const state = await restore(run, record.saga)
  const lease = newLease(run)
  const saga = withLaterEntry(record.saga, run.clock.now())
  const refusal = await replacePending(run, { saga: record.saga, lease: record }, { saga, lease })
  const holder = refusal?.existing && asIdempotencyRecord(refusal.existing)
  if (refusal && !holder) throw fail('TRANSIENT.error')
  const ownsLease = !holder || (holder.state === 'pending' && holder.lease_id === lease.lease_id)
  return ownsLease ? finish(run, saga, lease, state) : replay(run, holder)
}

interface Owned {
  saga: RecordedSaga
  lease: Lease
}

/** Gives a pending record another lease, and moves its entry with it. */
function replacePending(run: KeyedRun, from: Owned, to: Owned): Promise<Refusal | undefined> {
  const put = { item: pendingRecord(run.keyed, to.saga, to.lease), condition: ifOwnedBy(from.lease) }
  const moved = moveSagaEntry(run, from.saga, to.saga)
  return moved.length > 0 ? run.table.transact([put, ...moved]) : run.table.put(put)
}

/** Returns the state of a saga from its recorded part. The payload of the request holds the rest. */
async function restore(
  run: Pick<Run, 'operation' | 'saga' | 'decide'>,
  { state }: RecordedSaga,
): Promise<object> {
  return sagaOf(run).recorded ? { ...((await run.decide()) as SagaStart).state, ...state } : state
}

/** Replays a finished request with the same key and payload; undefined if there is none. */
export async function replayEarlier(
  run: Pick<KeyedRun, 'keyed' | 'table' | 'clock'>,
): Promise<Outcome | undefined> {
  const record = await findIdempotencyRecord(run)
  if (record?.payload_hash !== run.keyed.payloadHash || record.state === 'pending') return undefined
  return { response: storedResponse(record), status: 'replayed' }
}
