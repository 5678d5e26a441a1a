import { type Entity, entities, partitionsOf } from '#shared/platform/table/keys.ts'
import type { Table } from '#shared/platform/table/table.ts'
import type { Report } from '../cli/output.ts'
import { auditOfOperator, type Operator } from './tenant-records.ts'

/** Small enough that the items of a batch stay below the 4 MB of a transaction. */
const batch = 25
/** Keys are printable, so every sort key is in this range. */
const [low, high] = [' ', '\u{10ffff}']

/**
 * Deletes the items of a tenant. An interrupted run continues when it is repeated.
 * @returns how many items of each entity were deleted
 */
export async function purgeTenant(
  operator: Operator,
  tenant: string,
  { withAudit, report = () => {} }: { withAudit: boolean; report?: Report },
): Promise<Partial<Record<Entity, number>>> {
  const { table } = operator
  const deleted: Partial<Record<Entity, number>> = {}
  const all = Object.keys(entities) as Entity[]
  for (const [at, entity] of all.entries()) {
    report(entity, at / all.length)
    if (entity === 'audit' && !withAudit) continue
    for (const partition of partitionsOf(tenant, entity))
      deleted[entity] = (deleted[entity] ?? 0) + (await purgePartition(table, partition))
  }
  if (!withAudit) {
    const entry = { action: 'tenant.purge', target: 'tenant', after: { ...deleted } }
    await table.transact([auditOfOperator(operator, tenant, entry)])
  }
  return deleted
}

async function purgePartition(table: Table, partition: string): Promise<number> {
  for (let deleted = 0; ; ) {
    const { items } = await table.readRange({ partition, low, high, descending: false, limit: batch })
    if (items.length === 0) return deleted
    await table.transact(items.map(({ pk, sk }) => ({ remove: { pk, sk }, condition: 'none' as const })))
    deleted += items.length
  }
}
