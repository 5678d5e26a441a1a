import type { Clock } from '../platform/base/clock.ts'
import type { Failure } from '../platform/base/failure.ts'
import type { Table } from '../platform/table/table.ts'
import { type Completion, completionOutcome, countsOf, errorOf, type Operation } from './operation.ts'
import { decrementCount } from './operation-count.ts'
import { isEnded } from './operation-states.ts'
import {
  failedOperationEntry,
  findOperation,
  moveOperation,
  type OperationRef,
  removePendingEntry,
} from './operation-store.ts'

/** The end of an operation: its completion, or its failure. */
type Ending =
  | { trigger: 'succeed' | 'cancel'; completion: Completion }
  | { trigger: 'fail'; failure: Failure }

/** Each round lost to a concurrent count. Counting stops with the workflow. */
const maxRounds = 50

/**
 * Ends an operation once, with its counts up to that moment. Work in progress is no longer counted, because only
 * running operations are. An ended operation stays unchanged.
 * @param decide returns the ending for the current operation
 * @returns the ended operation; undefined if it does not exist any more
 */
export async function endOperation(
  ref: OperationRef,
  decide: (operation: Operation) => Ending | Promise<Ending>,
  { table, clock }: { table: Table; clock: Clock },
): Promise<Operation | undefined> {
  for (let round = 0; round < maxRounds; round += 1) {
    const operation = await findOperation(table, ref)
    if (!operation) {
      await table.transact([removePendingEntry(ref.operation_id)])
      return undefined
    }
    if (isEnded(operation.state)) return operation
    const ending = await decide(operation)
    // The URL of a file may be a secret and is no longer needed.
    const set = { ...endOf(operation, ending), source: { kind: 'inline' as const } }
    const asRead = { chunks_done: operation.chunks_done }
    const ended = moveOperation(operation, ending.trigger, clock.now(), set, asRead)
    const changes = [ended, removePendingEntry(operation.id), decrementCount(operation)]
    if (ending.trigger === 'fail') changes.push(failedOperationEntry(operation, clock.now()))
    if (!(await table.transact(changes))) return { ...operation, ...set }
  }
  throw new Error('an operation changed during every attempt to end it')
}

function endOf(operation: Operation, ending: Ending): Partial<Operation> {
  if (ending.trigger !== 'fail') return { completion: ending.completion }
  const completion = partialCompletion(operation)
  const error = errorOf(ending.failure, operation)
  if (completion.counts.total > 0) error.details = { ...error.details, counts: completion.counts }
  return { completion, error }
}

/** Returns the completion of an operation that did not process its whole file. */
export function partialCompletion(operation: Operation): Completion {
  const counts = countsOf(operation)
  return { outcome: completionOutcome(counts, false), counts, rejects: [] }
}
