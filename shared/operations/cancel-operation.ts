import type { AuditedAction } from '../platform/audit/audit-record.ts'
import type { WorkContext } from '../platform/request/context.ts'
import type { Write } from '../platform/table/table.ts'
import { partialCompletion } from './end-operation.ts'
import type { Operation } from './operation.ts'
import { decrementCount } from './operation-count.ts'
import { operationTransitions } from './operation-states.ts'
import { moveOperation, removePendingEntry } from './operation-store.ts'

/** The result of canceling an operation. */
interface Cancellation {
  operation: Operation
  writes: Write[]
  audit?: AuditedAction
}

/**
 * Cancels an operation. A pending one is canceled at once. A running one is asked to stop, and ends as canceled after
 * its work in progress. One that has ended or has a cancel request stays unchanged.
 */
export function cancelOperation(operation: Operation, { now }: Pick<WorkContext, 'now'>): Cancellation {
  const { id, tenant_id: tenant, state, cancel_requested } = operation
  const audit = { action: 'cancel', target: `operation/${id}`, tenant }
  const onFailure = 'TRANSIENT.error' as const
  if (state === 'pending' && operationTransitions.allows('cancel', state)) {
    const set = { completion: partialCompletion(operation), source: { kind: 'inline' as const } }
    const canceled = moveOperation(operation, 'cancel', now(), set, { state })
    const after = { ...operation, ...set, state: 'canceled' as const }
    return {
      operation: after,
      writes: [
        { ...canceled, onFailure },
        ...[removePendingEntry(id), decrementCount(operation)].map((change) => ({ ...change, onFailure })),
      ],
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
