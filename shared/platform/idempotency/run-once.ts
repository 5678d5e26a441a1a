import type { Settings } from '../../settings/register.ts'
import { Denial, Failure, fail, isRetryable, toFailure } from '../base/failure.ts'
import type { Item } from '../table/keys.ts'
import type { Change, Condition, Table } from '../table/table.ts'
import { type CommitContext, commit } from './commit.ts'
import type { Decision, Saga, SagaStart } from './decision.ts'
import {
  addPendingSaga,
  asRecord,
  checkPayload,
  findRecord,
  finishedRecord,
  heldBy,
  type IdempotencyRecord,
  isNew,
  type KeyedRequest,
  type Lease,
  newLease,
  type PendingRecord,
  pendingRecord,
  type RecordedSaga,
  removePendingSaga,
  type StoredResponse,
  storedResponse,
} from './record.ts'

/** An operation to run, with its dependencies. */
export interface Execution extends CommitContext {
  operation: string
  settings: Settings
  /** Decides the response, or the state with which the saga starts. */
  decide(): Promise<Decision | SagaStart>
  saga: Saga | undefined
  /** Renders the response of a decision. @throws a fault of the service if the response violates its schema */
  render(decision: Decision): StoredResponse
  /** Opens the table for writes after an effect, even if the request's time is spent. */
  tableForOutcome(): Table
}

export interface KeyedExecution extends Execution {
  keyed: KeyedRequest
}

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
export async function runWithoutKey(run: Execution): Promise<Outcome> {
  let decision = await run.decide()
  if ('state' in decision) {
    // Without a key, nothing can be resumed: the start is committed and executed at once.
    const { state } = decision
    const saga = sagaOf(run)
    await commit(run, saga.start(state))
    decision = await saga.outcome(state, await saga.execute(state))
  }
  const result = await commitRendered(run, decision)
  if ('existing' in result) throw new Error('a decision without a guard has no existing item')
  return result
}

/**
 * Runs an operation at most once for its key (docs/idempotency.md).
 * - The effect and the record are one transaction: a replay finds the stored response, and nothing happens again.
 * - A transient failure stores nothing, or leaves a saga pending: the same key may be sent again.
 * - A permanent fault is stored as failed and replayed. For a saga that the service can finish, it is not: an earlier
 *   attempt may have made the effect, so the saga stays pending until the outcome is known.
 * - A rejection (4xx) that is thrown has no effect and is not stored. One that is a decision is stored with its effects.
 */
export async function runOnce(run: KeyedExecution): Promise<Outcome> {
  let decision: Decision | SagaStart
  try {
    decision = await run.decide()
  } catch (thrown) {
    return afterRejection(run, thrown)
  }
  return 'state' in decision ? startSaga(run, decision.state) : storeDecision(run, decision)
}

async function storeDecision(run: KeyedExecution, decision: Decision): Promise<Outcome> {
  const condition = isNew(run)
  let result: Outcome | { existing: Item }
  try {
    result = await commitRendered(run, decision, condition)
  } catch (thrown) {
    return afterRejection(run, thrown)
  }
  return 'existing' in result ? replay(run, asRecord(result.existing)) : { ...result, status: 'stored' }
}

/**
 * Commits a decision and, under a key, its record. It is rendered first, so nothing is committed if its response
 * violates its schema.
 * @param condition that of the record
 */
async function commitRendered(
  run: Execution & { keyed?: KeyedRequest },
  decision: Decision,
  condition?: Condition,
  others: readonly Change[] = [],
): Promise<Outcome | { existing: Item }> {
  const { keyed } = run
  let response: StoredResponse | undefined
  const result = await commit<Decision>(run, decision, (current) => {
    response = run.render(current)
    return keyed && condition
      ? { guard: { item: finishedRecord(keyed, response, 'complete'), condition }, others }
      : {}
  })
  if ('existing' in result) return result
  return { response: response as StoredResponse, failure: result.committed.failure }
}

async function startSaga(run: KeyedExecution, state: object): Promise<Outcome> {
  const saga = sagaOf(run)
  const lease = newLease(run)
  // The entry of the pending saga has the id of the lease under which it is created.
  const entry = saga.finishedBy === 'service' ? { entry: lease.lease_id } : {}
  const recorded = { state: { ...(saga.recorded?.(state) ?? state) }, ...entry }
  const changes = {
    guard: { item: pendingRecord(run.keyed, recorded, lease), condition: isNew(run) },
    others: addPendingSaga(run, recorded),
  }
  let result: Awaited<ReturnType<typeof commit>>
  try {
    result = await commit(run, saga.start(state), () => changes)
  } catch (thrown) {
    // The start may be committed although the response was lost.
    if (isRetryable(thrown)) await release(run, recorded, heldBy(lease))
    return afterRejection(run, thrown)
  }
  return 'existing' in result ? replay(run, asRecord(result.existing)) : finish(run, recorded, lease, state)
}

/** Handles a rejection. If an earlier run has succeeded since, its response is replayed. */
async function afterRejection(run: KeyedExecution, thrown: unknown): Promise<Outcome> {
  const failure = thrown instanceof Denial ? thrown.failure : thrown
  if (failure instanceof Failure && failure.retryable && failure.http >= 500) throw failure
  const existing = await findRecord(run)
  if (existing) return replay(run, existing)
  if (failure instanceof Failure) throw thrown
  return storeFault(run, run.table, thrown, isNew(run))
}

/**
 * Makes the effect and commits its outcome if this run still holds the lease. Once the effect is made, nothing is
 * stored as failed any more and the request's time limit is ignored: only a pending record lets a retry record the
 * effect.
 */
async function finish(
  run: KeyedExecution,
  recorded: RecordedSaga,
  lease: Lease,
  state: object,
): Promise<Outcome> {
  const held = heldBy(lease)
  const saga = sagaOf(run)
  let isExecuted = false
  let result: Outcome | { existing: Item }
  try {
    const effect = await saga.execute(state)
    isExecuted = true
    const outcome = await saga.outcome(state, effect)
    const late = { ...run, table: run.tableForOutcome() }
    result = await commitRendered(late, outcome, held, removePendingSaga(recorded))
  } catch (thrown) {
    const isTransient = isRetryable(thrown)
    if (!isExecuted && !isTransient && recorded.entry === undefined) {
      return storeFault(run, run.tableForOutcome(), thrown, held)
    }
    await release(run, recorded, held)
    throw isTransient ? thrown : fail('TRANSIENT.error', { cause: thrown })
  }
  return 'existing' in result ? replay(run, asRecord(result.existing)) : { ...result, status: 'stored' }
}

function sagaOf({ saga, operation }: Execution): Saga {
  if (!saga) throw new Error(`${operation} has no saga`)
  return saga
}

/** Lets the next attempt continue at once. If this fails too, the lease expires; the first failure is returned. */
async function release(run: KeyedExecution, saga: RecordedSaga, held: Condition): Promise<void> {
  const free = { ...newLease(run), lease_until: 0 }
  await putPending({ ...run, table: run.tableForOutcome() }, saga, free, held).catch(() => undefined)
}

async function storeFault(
  run: KeyedExecution,
  table: Table,
  thrown: unknown,
  condition: Condition,
): Promise<Outcome> {
  const failure = toFailure(thrown)
  const response = run.render({ status: failure.http, failure })
  const refusal = await table.put({ item: finishedRecord(run.keyed, response, 'failed'), condition })
  if (refusal?.existing) return replay(run, asRecord(refusal.existing))
  return { response, failure, status: 'stored' }
}

/** Responds from the record of an earlier run: waits for it, or takes it over once its lease has expired. */
async function replay(run: KeyedExecution, existing: IdempotencyRecord): Promise<Outcome> {
  const { waitSeconds, status } = run.settings['idempotency.whilePending']
  const waitUntil = run.clock.now() + waitSeconds * 1000
  for (let record: IdempotencyRecord | undefined = existing; record; record = await findRecord(run)) {
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
export async function takeOver(run: KeyedExecution, record: PendingRecord): Promise<Outcome> {
  const state = await restore(run, record.saga)
  const lease = newLease(run)
  const refusal = await putPending(run, record.saga, lease, heldBy(record))
  const holder = refusal?.existing && asRecord(refusal.existing)
  if (refusal && !holder) throw fail('TRANSIENT.error')
  const isHeld = !holder || (holder.state === 'pending' && holder.lease_id === lease.lease_id)
  return isHeld ? finish(run, record.saga, lease, state) : replay(run, holder)
}

function putPending(run: KeyedExecution, saga: RecordedSaga, lease: Lease, condition: Condition) {
  return run.table.put({ item: pendingRecord(run.keyed, saga, lease), condition })
}

/** Returns the state of a saga from its recorded part. The payload of the request holds the rest. */
async function restore(run: Execution, { state }: RecordedSaga): Promise<object> {
  return sagaOf(run).recorded ? { ...((await run.decide()) as SagaStart).state, ...state } : state
}

/** Replays a finished request with the same key and payload; undefined if there is none. */
export async function replayEarlier(run: KeyedExecution): Promise<Outcome | undefined> {
  const record = await findRecord(run)
  if (record?.payload_hash !== run.keyed.payloadHash || record.state === 'pending') return undefined
  return { response: storedResponse(record), status: 'replayed' }
}
