import { startBudget } from '../base/budget.ts'
import type { Clock } from '../base/clock.ts'
import { timeOf } from '../base/ids.ts'
import { type Marker, markers, unmark } from '../idempotency/marker.ts'
import { asRecord } from '../idempotency/record.ts'
import { takeOver } from '../idempotency/run-once.ts'
import { pendingEntries, roundRobin } from '../table/pending-entries.ts'
import type { Table } from '../table/table.ts'
import { expiryOf, onceOf } from './answer-once.ts'
import type { Checked, Endpoint } from './endpoint.ts'
import type { Passage, Runtime } from './passage.ts'

/** The result of one run. */
export interface Finished {
  /** Intents whose outcome is now committed. */
  finished: number
  /** Intents that could not be finished; the next run tries them again. */
  left: number
  /** The error of the last of those. */
  fault?: unknown
  /** The start of the oldest pending intent, in milliseconds since 1970; absent if there is none. */
  oldest?: number
}

/** Requests may still be working on younger intents. */
const restMilliseconds = 60_000
const budgetMilliseconds = 10_000
/** No intent is started after this time; the function has time left for the last one. */
const lookMilliseconds = 15_000

/**
 * Finishes the intents that no caller retried (`finished: 'by_itself'`). Each is taken over as by a retry and carried
 * out with its recorded state. Tenants take turns in random order, so slow failures or one tenant's backlog do not
 * block the others run after run.
 * @param endpoints the endpoints of these intents
 */
export async function finishIntents(endpoints: readonly Endpoint[], runtime: Runtime): Promise<Finished> {
  const { clock } = runtime
  const until = clock.now() + lookMilliseconds
  const table = runtime.openTable(startBudget(clock, lookMilliseconds + budgetMilliseconds))
  const items = await pendingEntries(table, markers, clock.now() - restMilliseconds)
  const told: Finished = { finished: 0, left: 0 }
  if (items[0]) told.oldest = timeOf(items[0].sk)
  const kept = (fault: unknown) => {
    told.fault = fault
    return false
  }
  for (const marker of inTurns(items as unknown as Marker[], clock)) {
    const inTime = clock.now() < until
    const done = inTime && (await finishIntent(marker, endpoints, runtime, table).catch(kept))
    told[done ? 'finished' : 'left'] += 1
  }
  return told
}

function inTurns(all: readonly Marker[], clock: Clock): Marker[] {
  const tenants = Map.groupBy(shuffled(all, clock), ({ tenant }) => tenant)
  return roundRobin([...tenants.values()])
}

function shuffled<T>(all: readonly T[], clock: Clock): T[] {
  const drawn = all.map((one) => ({ one, at: clock.jitter() }))
  return drawn.toSorted((a, b) => a.at - b.at).map(({ one }) => one)
}

async function finishIntent(
  marker: Marker,
  endpoints: readonly Endpoint[],
  runtime: Runtime,
  table: Table,
): Promise<boolean> {
  const item = await table.get(marker.record)
  const record = item && asRecord(item)
  if (record?.state !== 'pending' || record.marker !== marker.sk) {
    await table.transact([unmark(marker.sk)])
    return true
  }
  if (record.lease_until > runtime.clock.now()) return false
  const endpoint = endpoints.find(({ route }) => route.operation === marker.operation)
  if (!endpoint) throw new Error(`nobody finishes intents of ${marker.operation}`)
  const passage = passageOf(endpoint, marker, runtime)
  await takeOver(
    onceOf(passage, undefined as unknown as Checked<unknown>, {
      key: marker.record,
      payloadHash: marker.payload_hash,
      expiresAt: expiryOf(passage),
    }),
    record,
  )
  return true
}

/** Builds the context of an intent that the service finishes. It needs only the recorded state, not the request. */
function passageOf(endpoint: Endpoint, { correlation_id }: Marker, runtime: Runtime): Passage {
  const { clock, settings } = runtime
  const budget = startBudget(clock, budgetMilliseconds)
  return {
    endpoint,
    request: { method: '', path: '', params: {}, query: [], headers: {}, body: undefined, sourceAddress: '' },
    runtime,
    clock,
    settings,
    correlation: { id: correlation_id, trace: {} },
    budget,
    table: runtime.openTable(budget),
    caller: undefined,
  }
}
