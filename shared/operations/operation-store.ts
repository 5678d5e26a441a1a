import * as v from 'valibot'
import { timeOf, timestamp } from '../platform/base/clock.ts'
import { type Failure, fail } from '../platform/base/failure.ts'
import type { Task } from '../platform/events/outbox.ts'
import { locate } from '../platform/identity/authorize.ts'
import type { RequestContext } from '../platform/request/context.ts'
import { failurePut } from '../platform/table/failure-entries.ts'
import { type Item, type Key, keyOf, ownerOf, pendingKeyOf } from '../platform/table/keys.ts'
import { type Change, create, type Table, type Update, type Write } from '../platform/table/table.ts'
import type { Settings } from '../settings/register.ts'
import { type Operation, type OperationTrigger, operationTransitions } from './operation.ts'

/** A reference to an operation in messages and workflows, free of personal data. */
export const OperationRef = v.object({ tenant: v.string(), operation_id: v.string() })
export type OperationRef = v.InferOutput<typeof OperationRef>

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

/**
 * Removes an operation that ends from those in progress: its entry, and its part of the tenant's count. The count may have
 * expired since, such as during a long freeze: it never falls below zero.
 */
export async function endProgress({ id, tenant_id }: Operation, table: Table): Promise<Change[]> {
  const update = countKey(tenant_id)
  const in_progress = Number((await table.get(update))?.in_progress ?? 0)
  if (in_progress < 1) return [removePendingEntry(id)]
  const condition = { matches: { in_progress } }
  return [removePendingEntry(id), { update, set: {}, add: { in_progress: -1 }, condition }]
}

/** Writes the entry of an operation that fails. */
export function failedOperationEntry(
  { id: work, tenant_id: tenant, expires_at }: Pick<Operation, 'id' | 'tenant_id' | 'expires_at'>,
  now: number,
): Change {
  return failurePut('failed-operation', { tenant, work, expires_at }, now)
}

/**
 * The key of a tenant's count of operations in progress. The count rises in the transaction that starts an operation
 * and falls in the one that ends it, so it is exact whatever fails in between. If it expired, it is too low until all
 * operations that it lacks have ended.
 */
const countKey = (tenant: string): Key => keyOf(tenant, 'operation_count', 'imports')

/** How long the count is kept after the latest operation started, in seconds: longer than any operation runs. */
const countRetentionSeconds = 24 * 3600

/** Counts a new operation unless the tenant is at its limit. A count that is too high expires. */
function incrementCount({ id, tenant_id }: Operation, settings: Settings): Write {
  const value = settings['imports.inProgressPerTenant']
  return {
    update: countKey(tenant_id),
    set: { expires_at: Math.floor(timeOf(id) / 1000) + countRetentionSeconds },
    add: { in_progress: 1 },
    condition: { absentOrBelow: { attribute: 'in_progress', value } },
    onFailure: 'RATE_LIMIT.exceeded',
  }
}

/** Returns whether a write failed because the tenant has too many operations in progress. */
export function isCountItem(existing: Item | undefined): boolean {
  return existing !== undefined && ownerOf(existing.pk).kind === 'operation_count'
}

/** Rejects a request early, before work that its commit would discard. @throws RATE_LIMIT.exceeded */
export async function checkInProgressLimit(table: Table, tenant: string, settings: Settings): Promise<void> {
  const count = await table.get(countKey(tenant))
  if (Number(count?.in_progress ?? 0) >= settings['imports.inProgressPerTenant'])
    throw tooManyInProgress(settings)
}

export function tooManyInProgress(settings: Settings): Failure {
  return fail('RATE_LIMIT.exceeded', {
    retryAfterSeconds: settings['operations.retryAfter'],
    details: { reason: 'operations_in_progress', max: settings['imports.inProgressPerTenant'] },
  })
}
