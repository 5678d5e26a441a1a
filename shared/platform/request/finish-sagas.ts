import { type Clock, startBudget } from '../base/clock.ts'
import { Failure } from '../base/failure.ts'
import { recordBacklogs } from '../idempotency/backlog.ts'
import { asIdempotencyRecord } from '../idempotency/idempotency-record.ts'
import { isEntryOf, removeSagaEntry, type SagaEntry } from '../idempotency/pending-saga.ts'
import { takeOver } from '../idempotency/run-once.ts'
import { readDue } from '../table/pending-entries.ts'
import { inParallel, roundRobin, type Table } from '../table/table.ts'
import { openWork, type Runtime } from './context.ts'
import type { Endpoint } from './endpoint.ts'
import { recordExpiry, runOf } from './execution.ts'

/** The result of one run. */
export interface Finished {
  /** Sagas whose outcome is now committed. */
  finished: number
  /** Sagas that could not be finished; a later run tries them again. */
  left: number
  /** Those that a decision of their tenant refused, such as an account without access. That is no failure of the service. */
  refused?: number
  /** The error of the last of those that failed. */
  fault?: unknown
  /** The start of the oldest pending saga, in milliseconds since 1970; absent if there is none. */
  oldest?: number
}

const budgetMilliseconds = 10_000
/** No saga is continued after this time; the function has time left for the last one. */
export const runLimitMilliseconds = 15_000

/**
 * Finishes the sagas that no caller retried and that are due. Each is taken over as by a retry and executed with its recorded
 * state. Tenants take turns in random order, so slow failures or one tenant's backlog do not block the others run after run.
 * Stores which tenants have too many pending sagas.
 * @param endpoints the endpoints of these sagas
 */
export async function finishSagas(endpoints: readonly Endpoint[], runtime: Runtime): Promise<Finished> {
  const { clock } = runtime
  const until = clock.now() + runLimitMilliseconds
  const table = runtime.openTable(startBudget(clock, runLimitMilliseconds + budgetMilliseconds))
  const range = { now: clock.now(), countsLater: true }
  const { due, counts, oldest } = await readDue<SagaEntry>(table, 'pending-saga', range)
  const recorded = recordBacklogs(counts, table)
  // If it fails, the run fails once its work has ended.
  recorded.catch(() => undefined)
  const result = await workInTurns(due, { clock, until }, (entry) =>
    finishSaga(entry, endpoints, runtime, table),
  )
  await recorded
  return { ...result, ...(oldest !== undefined && { oldest }) }
}

/**
 * Works on pending entries, eight at a time. Tenants take turns in random order, and the entries of a tenant are in theirs.
 * @param until no work begins after this time, in milliseconds since 1970
 * @param work returns whether it finished; if it throws, the entry is left
 */
export async function workInTurns<Entry extends { tenant: string }>(
  entries: readonly Entry[],
  { clock, until }: { clock: Clock; until: number },
  work: (entry: Entry) => Promise<boolean>,
): Promise<Finished> {
  const result: Finished = { finished: 0, left: 0 }
  await inParallel(inTurns(entries, clock), async (entry) => {
    try {
      const done = clock.now() < until && (await work(entry))
      result[done ? 'finished' : 'left'] += 1
    } catch (fault) {
      if (fault instanceof Failure && fault.causedByCaller) result.refused = (result.refused ?? 0) + 1
      else {
        result.left += 1
        result.fault = fault
      }
    }
  })
  return result
}

function inTurns<Entry extends { tenant: string }>(all: readonly Entry[], clock: Clock): Entry[] {
  const drawn = Array.from(Map.groupBy(all, ({ tenant }) => tenant).values(), (queue) => ({
    queue,
    at: clock.jitter(),
  }))
  return roundRobin(drawn.toSorted((a, b) => a.at - b.at).map(({ queue }) => queue))
}

async function finishSaga(
  entry: SagaEntry,
  endpoints: readonly Endpoint[],
  runtime: Runtime,
  table: Table,
): Promise<boolean> {
  const item = await table.get(entry.record)
  const record = item && asIdempotencyRecord(item)
  if (!isEntryOf(entry, record)) {
    await table.transact(removeSagaEntry({ entry: entry.sk }))
    return true
  }
  if (record.lease_until > runtime.clock.now()) return false
  const { operation, correlation_id: id } = entry
  const endpoint = endpoints.find(({ route }) => route.operation === operation)
  if (!endpoint) throw new Error(`no endpoint finishes sagas of ${operation}`)
  const correlation = { id, trace: {} }
  const context = openWork(runtime, { operation, correlation, milliseconds: budgetMilliseconds })
  const keyed = {
    key: entry.record,
    payloadHash: entry.payload_hash,
    firstUsedAt: record.first_used_at,
    expiresAt: recordExpiry(context),
    tenant: entry.tenant,
  }
  const run = runOf(endpoint, context, () => {
    throw new Error('a recorded saga is not started again')
  })
  await takeOver({ ...run, keyed }, record)
  return true
}
