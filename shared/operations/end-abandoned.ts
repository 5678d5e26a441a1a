import { type Clock, lastIdAt, timeOf } from '../platform/base/clock.ts'
import { fail } from '../platform/base/failure.ts'
import type { Workflow } from '../platform/jobs/workflow.ts'
import { pendingEntries } from '../platform/table/pending-entries.ts'
import { inParallel, roundRobin, type Table } from '../platform/table/table.ts'
import { endOperation, endUnfinished } from './end-operation.ts'
import type { OperationRef } from './operation-store.ts'

/**
 * The time limit of an import, in seconds, waiting for others included. After a freeze of a night it still goes on. Its file is
 * deleted after a day, and a sender should not wait that long for an answer.
 */
export const importTimeoutSeconds = 12 * 3600
/** How long after its workflow's time limit an operation is ended, whatever its workflow does. */
const graceMilliseconds = 15 * 60_000
/** Younger operations may not have reached their workflow yet. */
const minAgeMilliseconds = 60_000
/** How often the sweeper runs. */
const intervalMilliseconds = 60_000
/** The account quota of DescribeExecution in most regions: 250 at once, and 10 a second afterwards. */
const maxChecks = 250
const checkMilliseconds = 18_000

interface SweepContext {
  table: Table
  clock: Clock
}

/** The result of one run of the sweeper. */
export interface SweptOperations {
  /** Workflows started again because their message was lost. */
  started: number
  ended: number
  /** Operations whose check failed; a later run checks them again. */
  left: number
  /** The start of the oldest operation in progress, in milliseconds since 1970; absent if there is none. */
  oldest?: number
}

/**
 * Ensures that every operation ends. Starts an operation whose workflow never started. Ends an operation whose
 * workflow stopped, timed out or failed silently, or that is past its deadline: as failed, or as canceled if that was
 * requested. If there are more operations than one run can check, the runs check the tenants in turn.
 * @param limit how many operations are checked in one run
 */
export async function endAbandoned(
  workflow: Workflow,
  { table, clock }: SweepContext,
  limit: number = maxChecks,
): Promise<SweptOperations> {
  const until = clock.now() + checkMilliseconds
  const youngest = lastIdAt(clock.now() - minAgeMilliseconds)
  const entries = await pendingEntries(table, 'pending-operation', youngest)
  const refs = entries.map(({ sk, tenant }) => ({ tenant: String(tenant), operation_id: sk }))
  const swept: SweptOperations = { started: 0, ended: 0, left: 0 }
  if (refs[0]) swept.oldest = timeOf(refs[0].operation_id)
  const chosen = fairSelection(refs, limit, Math.floor(clock.now() / intervalMilliseconds))
  await inParallel(chosen, async (ref) => {
    if (clock.now() > until) return
    const result = await check(ref, workflow, { table, clock }).catch(() => 'left' as const)
    if (result !== 'running') swept[result] += 1
  })
  return swept
}

/**
 * Returns the operations that one run checks: one of each tenant, then a second of each, up to the limit. The next
 * run continues with the next tenants, and with the next operations of a tenant that has more than its share. So one
 * tenant's operations never block those of another.
 */
function fairSelection(refs: readonly OperationRef[], limit: number, run: number): OperationRef[] {
  const tenants = [...Map.groupBy(refs, ({ tenant }) => tenant).values()]
  const share = Math.max(1, Math.floor(limit / tenants.length))
  return roundRobin(
    rotated(tenants, run * limit).map((queue) => rotated(queue, run * share)),
    limit,
  )
}

function rotated<T>(items: readonly T[], by: number): T[] {
  const start = by % items.length
  return [...items.slice(start), ...items.slice(0, start)]
}

async function check(
  ref: OperationRef,
  workflow: Workflow,
  { table, clock }: SweepContext,
): Promise<'started' | 'ended' | 'running'> {
  const limit = importTimeoutSeconds * 1000 + graceMilliseconds
  const late = clock.now() > timeOf(ref.operation_id) + limit
  if (!late) {
    const state = await workflow.stateOf(ref.operation_id)
    if (state === 'running') return 'running'
    if (state === 'absent') {
      await workflow.start(ref.operation_id, { ...ref })
      return 'started'
    }
  }
  const failure = fail(late ? 'DEPENDENCY.timeout' : 'TRANSIENT.error')
  await endOperation(ref, (operation) => endUnfinished(operation, failure), { table, clock })
  return 'ended'
}
