import { createHash } from 'node:crypto'
import type { Scope } from '../platform/auth/authorise.ts'
import { locate } from '../platform/auth/locate.ts'
import { timestamp } from '../platform/clock.ts'
import type { Task } from '../platform/queue/tasks.ts'
import { type Item, type Key, keyOf } from '../platform/table/keys.ts'
import type { Change, Table, Update } from '../platform/table/table.ts'
import { create, type Write } from '../platform/table/writes.ts'
import type { Settings } from '../settings/register.ts'
import type { Operation } from './operation.ts'
import { counted } from './operation-count.ts'
import { moveCondition, stateAfter, type Trigger } from './operation-states.ts'

/** What stands for an operation in messages and workflows: nothing of a person. */
export interface OperationRef {
  tenant: string
  operation_id: string
}

/** The partition of the markers of what is not over, oldest first. One is enough: a marker lives as its operation runs. */
export const unfinishedOperations = 'unfinished_operations'

/** @throws NOT_FOUND.operation, also for another tenant's */
export async function readOperation(
  table: Table,
  scope: Scope,
  id: string,
  settings: Settings,
): Promise<Operation> {
  return asOperation(await locate(table, scope, 'operation', id, 'NOT_FOUND.operation', settings))
}

/** The operation of a message or a workflow; undefined when it is gone. */
export async function findOperation(table: Table, ref: OperationRef): Promise<Operation | undefined> {
  const item = await table.get(keyOf(ref.tenant, 'operation', ref.operation_id))
  return item && asOperation(item)
}

export function asOperation(item: Item): Operation {
  return item as unknown as Operation
}

export function operationEtag(view: unknown): string {
  return `"${createHash('sha256').update(JSON.stringify(view)).digest('base64url').slice(0, 27)}"`
}

/** A new operation with its marker, counted among those in progress; its task is queued once it is committed. */
export function begunOperation(operation: Operation, queue: Task['queue'], settings: Settings): Write[] {
  const { id, tenant_id: tenant } = operation
  const ref: OperationRef = { tenant, operation_id: id }
  const task: Task = { queue, body: JSON.stringify(ref) }
  return [
    create({ ...keyOf(tenant, 'operation', id), ...operation, task }),
    create({ ...markerKey(id), tenant }),
    counted(operation, settings),
  ]
}

/** A move of an operation, with more that it sets, under the condition of its state and of more. */
export function moved(
  { id, tenant_id }: Pick<Operation, 'id' | 'tenant_id'>,
  trigger: Trigger,
  now: number,
  set: Partial<Operation> = {},
  matches: Record<string, string | number> = {},
): Update {
  return {
    update: keyOf(tenant_id, 'operation', id),
    set: { ...set, state: stateAfter(trigger), updated_at: timestamp(now) },
    condition: moveCondition(trigger, matches),
  }
}

/** The end of a marker. That somebody else ended it is as good. */
export function unmarked(id: string): Change {
  return { remove: markerKey(id), condition: 'none' }
}

function markerKey(id: string): Key {
  return { pk: unfinishedOperations, sk: id }
}
