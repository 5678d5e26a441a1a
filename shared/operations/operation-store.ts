import { timestamp } from '../platform/base/clock.ts'
import type { Task } from '../platform/events/outbox.ts'
import { locate } from '../platform/identity/authorize.ts'
import type { RequestContext } from '../platform/request/context.ts'
import { failurePut } from '../platform/table/failure-entries.ts'
import { type Item, keyOf, pendingKeyOf } from '../platform/table/keys.ts'
import { type Change, create, type Table, type Update, type Write } from '../platform/table/table.ts'
import type { Settings } from '../settings/register.ts'
import type { Operation } from './operation.ts'
import { incrementCount } from './operation-count.ts'
import { type OperationTrigger, operationTransitions } from './operation-states.ts'

/** A reference to an operation in messages and workflows, free of personal data. */
export interface OperationRef {
  tenant: string
  operation_id: string
}

/** @throws NOT_FOUND.operation, also for an operation of another tenant */
export async function readOperation(
  context: Pick<RequestContext, 'table' | 'scope' | 'settings' | 'isBlocked'>,
  id: string,
): Promise<Operation> {
  return asOperation(await locate(context, 'operation', id, 'NOT_FOUND.operation'))
}

/** Returns the operation of a message or a workflow; undefined if it does not exist any more. */
export async function findOperation(table: Table, ref: OperationRef): Promise<Operation | undefined> {
  const item = await table.get(keyOf(ref.tenant, 'operation', ref.operation_id))
  return item && asOperation(item)
}

export function asOperation(item: Item): Operation {
  return item as unknown as Operation
}

/** Writes a new operation with its entry and counts it as in progress. Its task is queued after the commit. */
export function createOperation(operation: Operation, queue: Task['queue'], settings: Settings): Write[] {
  const { id, tenant_id: tenant } = operation
  const ref: OperationRef = { tenant, operation_id: id }
  const task: Task = { queue, body: JSON.stringify(ref), group: tenant }
  return [
    create({ ...keyOf(tenant, 'operation', id), ...operation, task }),
    create({ ...pendingKeyOf('pending-operation', id), tenant }),
    incrementCount(operation, settings),
  ]
}

/** Returns a transition of an operation as an update, with further attributes and conditions. */
export function moveOperation(
  { id, tenant_id }: Pick<Operation, 'id' | 'tenant_id'>,
  trigger: OperationTrigger,
  now: number,
  set: Partial<Operation> = {},
  matches: Record<string, string | number> = {},
): Update {
  return {
    update: keyOf(tenant_id, 'operation', id),
    set: { ...set, state: operationTransitions.stateAfter(trigger), updated_at: timestamp(now) },
    condition: operationTransitions.condition(trigger, matches),
  }
}

/** Removes the entry of an operation. Another process may have removed it already. */
export function removePendingEntry(id: string): Change {
  return { remove: pendingKeyOf('pending-operation', id), condition: 'none' }
}

/** Writes the entry of an operation that fails. */
export function failedOperationEntry(
  { id: work, tenant_id: tenant, expires_at }: Pick<Operation, 'id' | 'tenant_id' | 'expires_at'>,
  now: number,
): Change {
  return failurePut('failed-operation', { tenant, work, expires_at }, now)
}
