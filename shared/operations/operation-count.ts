import { timeOf } from '../platform/base/clock.ts'
import { type Failure, fail } from '../platform/base/failure.ts'
import { type Item, type Key, keyOf, ownerOf } from '../platform/table/keys.ts'
import type { Change, Table, Write } from '../platform/table/table.ts'
import type { Settings } from '../settings/register.ts'
import type { Operation } from './operation.ts'

/**
 * The key of a tenant's count of operations in progress. The count rises in the transaction that starts an operation
 * and falls in the one that ends it, so it is exact whatever fails in between.
 */
const countKey = (tenant: string): Key => keyOf(tenant, 'operation_count', 'imports')

/** How long the count is kept after the latest operation started, in seconds: longer than any operation runs. */
const retentionSeconds = 24 * 3600

/** Counts a new operation unless the tenant is at its limit. A count that is too high expires. */
export function incrementCount({ id, tenant_id }: Operation, settings: Settings): Write {
  const value = settings['imports.inProgressPerTenant']
  return {
    update: countKey(tenant_id),
    set: { expires_at: Math.floor(timeOf(id) / 1000) + retentionSeconds },
    add: { in_progress: 1 },
    condition: { absentOrBelow: { attribute: 'in_progress', value } },
    onFailure: 'RATE_LIMIT.exceeded',
  }
}

/** Removes an ended operation from the count. */
export function decrementCount({ tenant_id }: Operation): Change {
  return { update: countKey(tenant_id), set: {}, add: { in_progress: -1 }, condition: 'none' }
}

/** Returns whether a write failed because the tenant has too many operations in progress. */
export function isCountItem(existing: Item | undefined): boolean {
  return existing !== undefined && ownerOf(existing.pk).entity === 'operation_count'
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
