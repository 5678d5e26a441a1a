import type { Clock } from '../clock.ts'
import { type Marker, markers, unmark } from '../idempotency/marker.ts'
import { asRecord } from '../idempotency/record.ts'
import { takeOver } from '../idempotency/run-once.ts'
import { timeOf } from '../ids/uuid-v7.ts'
import { startBudget } from '../limits/budget.ts'
import { pendingEntries, roundRobin } from '../sweep/pending-entries.ts'
import type { Table } from '../table/table.ts'
import { expiryOf, onceOf } from './answer-once.ts'
import type { Checked, Endpoint } from './endpoint.ts'
import type { Passage, Runtime } from './passage.ts'

/** What came of a look at what is unfinished. */
export interface Finished {
  /** Intents whose outcome is written down now. */
  finished: number
  /** Those that could not be finished, and are tried again at the next look. */
  left: number
  /** What kept the last of those. */
  fault?: unknown
  /** Since when the oldest was pending, in milliseconds since 1970; absent where nothing was. */
  oldest?: number
}

/** Younger ones are still being worked on by their own requests. */
const restMilliseconds = 60_000
const budgetMilliseconds = 10_000
/** No intent is begun after this; the function has time left for the last one. */
const lookMilliseconds = 15_000

/**
 * Finishes the intents that no retry came for (`finished: 'by_itself'`): each is taken over like a retry would, and
 * carried out with what it recorded. Tenants take turns, and the order is random otherwise: a few intents that fail
 * slowly, or the many of one tenant, do not keep the others waiting run after run.
 * @param endpoints those whose intents these are
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

/** An intent that is finished by itself needs nothing of its request but what it recorded. */
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
