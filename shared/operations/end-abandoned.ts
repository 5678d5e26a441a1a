import type { Clock } from '../platform/clock.ts'
import { fail } from '../platform/errors/failure.ts'
import { lastIdAt, timeOf } from '../platform/ids/uuid-v7.ts'
import { smallestId } from '../platform/listing/ids.ts'
import type { Table } from '../platform/table/table.ts'
import type { Workflow } from '../platform/workflow/workflow.ts'
import { endOperation, soFar } from './end-operation.ts'
import { type OperationRef, unfinishedOperations } from './operation-store.ts'

/** How long a workflow may take, in seconds; AWS ends it then. */
export const workflowSeconds = 2 * 3600
/** When an operation is ended whatever its workflow does. */
const deadlineMilliseconds = (workflowSeconds + 15 * 60) * 1000
/** Younger ones are still on their way to their workflow. */
const restMilliseconds = 60_000
const mostAtOnce = 500

/** What came of a look at what is not over. */
export interface Looked {
  /** Begun again, as their message was lost. */
  started: number
  ended: number
  /** Those that could not be dealt with; the next look finds them again. */
  left: number
  /** Since when the oldest was under way, in milliseconds since 1970; absent where nothing was. */
  oldest?: number
}

/**
 * Sees to it that every operation ends, oldest first: one whose workflow never began is begun; one whose workflow was
 * stopped, timed out or failed without a word, or that is past its deadline, ends as failed, or as canceled where that
 * was asked for.
 */
export async function endAbandoned(
  workflow: Workflow,
  { table, clock }: { table: Table; clock: Clock },
): Promise<Looked> {
  const high = lastIdAt(clock.now() - restMilliseconds)
  const range = { low: smallestId, high, descending: false, limit: mostAtOnce }
  const { items } = await table.readRange({ partition: unfinishedOperations, ...range })
  const looked: Looked = { started: 0, ended: 0, left: 0 }
  if (items[0]) looked.oldest = timeOf(items[0].sk)
  for (const { sk, tenant } of items) {
    const ref = { tenant: String(tenant), operation_id: sk }
    const done = await lookAt(ref, workflow, { table, clock }).catch(() => 'left' as const)
    if (done !== 'running') looked[done] += 1
  }
  return looked
}

async function lookAt(
  ref: OperationRef,
  workflow: Workflow,
  { table, clock }: { table: Table; clock: Clock },
): Promise<'started' | 'ended' | 'running'> {
  const late = clock.now() > timeOf(ref.operation_id) + deadlineMilliseconds
  if (!late) {
    const state = await workflow.stateOf(ref.operation_id)
    if (state === 'running') return 'running'
    if (state === 'absent') {
      await workflow.start(ref.operation_id, { ...ref })
      return 'started'
    }
  }
  await endOperation(
    ref,
    (operation) =>
      operation.cancel_requested === 'yes'
        ? { trigger: 'cancel', completion: soFar(operation) }
        : { trigger: 'fail', failure: fail(late ? 'DEPENDENCY.timeout' : 'TRANSIENT.error') },
    { table, clock },
  )
  return 'ended'
}
