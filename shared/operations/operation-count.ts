import { type Failure, fail } from '../platform/errors/failure.ts'
import { timeOf } from '../platform/ids/uuid-v7.ts'
import { type Item, type Key, keyOf, ownerOf } from '../platform/table/keys.ts'
import type { Change, Table } from '../platform/table/table.ts'
import type { Write } from '../platform/table/writes.ts'
import type { Settings } from '../settings/register.ts'
import type { Operation } from './operation.ts'

/**
 * The number of operations in progress of a tenant. It rises in the transaction that begins an operation and falls in
 * the one that ends it, so it is exact whatever happens in between.
 */
const keyOfCount = (tenant: string): Key => keyOf(tenant, 'operation_count', 'imports')

/** How long the count is kept after the latest operation began, in seconds: longer than any operation runs. */
const keptSeconds = 24 * 3600

/**
 * Counts a new operation, unless the tenant has as many as the deployment permits. A count that stays too high,
 * such as after a rollback to a release that ends operations without it, expires.
 */
export function counted({ id, tenant_id }: Operation, settings: Settings): Write {
  const value = settings['imports.inProgressPerTenant']
  return {
    update: keyOfCount(tenant_id),
    set: { expires_at: Math.floor(timeOf(id) / 1000) + keptSeconds },
    add: { in_progress: 1 },
    condition: { absentOrBelow: { attribute: 'in_progress', value } },
    otherwise: 'RATE_LIMIT.exceeded',
  }
}

/** Takes an operation that ends out of the count. Operations of earlier versions are not in it. */
export function uncounted({ tenant_id, counted }: Operation): Change[] {
  if (counted !== 'yes') return []
  return [{ update: keyOfCount(tenant_id), set: {}, add: { in_progress: -1 }, condition: 'none' }]
}

/** Whether a write was refused because the tenant has too many operations in progress. */
export function isCount(existing: Item | undefined): boolean {
  return existing !== undefined && ownerOf(existing.pk).entity === 'operation_count'
}

/** Spares a request that will be refused its work. @throws RATE_LIMIT.exceeded */
export async function checkCount(table: Table, tenant: string, settings: Settings): Promise<void> {
  const count = await table.get(keyOfCount(tenant))
  if (Number(count?.in_progress ?? 0) >= settings['imports.inProgressPerTenant']) throw tooMany(settings)
}

export function tooMany(settings: Settings): Failure {
  return fail('RATE_LIMIT.exceeded', {
    retryAfterSeconds: settings['operations.retryAfter'],
    details: { reason: 'operations_in_progress', max: settings['imports.inProgressPerTenant'] },
  })
}
