import type { Clock } from '../platform/clock.ts'
import type { Failure } from '../platform/errors/failure.ts'
import type { Table } from '../platform/table/table.ts'
import { type Completion, countsOf, errorOf, type Operation, outcomeOf } from './operation.ts'
import { uncounted } from './operation-count.ts'
import { isOver } from './operation-states.ts'
import { findOperation, moved, type OperationRef, unmarked } from './operation-store.ts'

/** How an operation ends: with what it came to, or with what went wrong. */
export type Ending =
  | { trigger: 'succeed' | 'cancel'; completion: Completion }
  | { trigger: 'fail'; failure: Failure }

/** Each round somebody counted in between; once the workflow is over nobody does. */
const mostRounds = 50

/**
 * Ends an operation once, with the counts of what was done up to that moment: whatever is still under way is not
 * counted any more, as it counts only what runs. One that is over stays as it is.
 * @param decide the ending of the operation as it stands
 * @returns the operation as it ended, now or before; undefined when it is gone
 */
export async function endOperation(
  ref: OperationRef,
  decide: (operation: Operation) => Ending | Promise<Ending>,
  { table, clock }: { table: Table; clock: Clock },
): Promise<Operation | undefined> {
  for (let round = 0; round < mostRounds; round += 1) {
    const operation = await findOperation(table, ref)
    if (!operation) {
      await table.transact([unmarked(ref.operation_id)])
      return undefined
    }
    if (isOver(operation.state)) return operation
    const ending = await decide(operation)
    // The address of a file can be a secret, and is not needed any more.
    const set = { ...endOf(operation, ending), source: { kind: 'inline' as const } }
    const asRead = { chunks_done: operation.chunks_done }
    const move = moved(operation, ending.trigger, clock.now(), set, asRead)
    if (!(await table.transact([move, unmarked(operation.id), ...uncounted(operation)])))
      return { ...operation, ...set }
  }
  throw new Error('an operation did not stand still')
}

function endOf(operation: Operation, ending: Ending): Partial<Operation> {
  if (ending.trigger !== 'fail') return { completion: ending.completion }
  const completion = soFar(operation)
  const error = errorOf(ending.failure, operation)
  if (completion.counts.total > 0) error.details = { ...error.details, counts: completion.counts }
  return { completion, error }
}

/** What an operation came to that did not go through all of its file. */
export function soFar(operation: Operation): Completion {
  const counts = countsOf(operation)
  return { outcome: outcomeOf(counts, false), counts, rejects: [] }
}
