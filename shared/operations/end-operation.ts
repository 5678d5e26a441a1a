import type { AuditedAction } from '../platform/audit/audit-record.ts'
import type { Clock } from '../platform/base/clock.ts'
import type { Failure } from '../platform/base/failure.ts'
import type { WorkContext } from '../platform/request/context.ts'
import type { Table, Write } from '../platform/table/table.ts'
import {
  errorOf,
  isEnded,
  type Operation,
  operationTransitions,
  partialResult,
  type Result,
} from './operation.ts'
import {
  endProgress,
  failedOperationEntry,
  findOperation,
  moveOperation,
  type OperationRef,
  removePendingEntry,
} from './operation-store.ts'

/** The end of an operation: its result, or its failure. */
export type Ending = { trigger: 'succeed' | 'cancel'; result: Result } | { trigger: 'fail'; failure: Failure }

/** Each round lost to a concurrent count. Counting stops with the workflow. */
const maxRounds = 50

/** The URL of a file may be a secret, and an ended operation does not need it. */
const withoutUrl = { source: { kind: 'inline' } } as const

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
    const set = { ...endOf(operation, ending), ...withoutUrl }
    const asRead = { chunks_done: operation.chunks_done }
    const ended = moveOperation(operation, ending.trigger, clock.now(), set, asRead)
    const changes = [ended, ...(await endProgress(operation, table))]
    if (ending.trigger === 'fail') changes.push(failedOperationEntry(operation, clock.now()))
    if (!(await table.transact(changes))) return { ...operation, ...set }
  }
  throw new Error('an operation changed during every attempt to end it')
}

/** Returns the ending of an operation whose work stopped: canceled if that was requested, otherwise failed. */
export function endUnfinished(operation: Operation, failure: Failure): Ending {
  return operation.cancel_requested === 'yes'
    ? { trigger: 'cancel', result: partialResult(operation) }
    : { trigger: 'fail', failure }
}

function endOf(operation: Operation, ending: Ending): Partial<Operation> {
  if (ending.trigger !== 'fail') return { result: ending.result }
  const result = partialResult(operation)
  const error = errorOf(ending.failure, operation)
  if (result.counts.total > 0) error.details = { ...error.details, counts: result.counts }
  return { result, error }
}

/** The outcome of a request to cancel an operation. */
interface Cancellation {
  operation: Operation
  writes: Write[]
  audit?: AuditedAction
}

/**
 * Cancels an operation. A pending one is canceled at once. A running one is asked to stop, and ends as canceled after
 * its work in progress. One that has ended or has a cancel request stays unchanged.
 */
export async function cancelOperation(
  operation: Operation,
  { table, now }: Pick<WorkContext, 'table' | 'now'>,
): Promise<Cancellation> {
  const { id, tenant_id: tenant, state, cancel_requested } = operation
  const audit = { action: 'cancel', target: `operation/${id}`, tenant }
  const onFailure = 'TRANSIENT.error' as const
  if (state === 'pending' && operationTransitions.allows('cancel', state)) {
    const set = { result: partialResult(operation), ...withoutUrl }
    const canceled = moveOperation(operation, 'cancel', now(), set, { state })
    const changes = [canceled, ...(await endProgress(operation, table))]
    return {
      operation: { ...operation, ...set, state: 'canceled' },
      writes: changes.map((change) => ({ ...change, onFailure })),
      audit,
    }
  }
  if (!operationTransitions.allows('request_cancel', state) || cancel_requested === 'yes')
    return { operation, writes: [] }
  const set = { cancel_requested: 'yes' as const }
  return {
    operation: { ...operation, ...set },
    writes: [{ ...moveOperation(operation, 'request_cancel', now(), set), onFailure }],
    audit,
  }
}
