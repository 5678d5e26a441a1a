import { type Clock, systemClock } from '#shared/platform/base/clock.ts'
import { type Entity, entities, partitionsOf } from '#shared/platform/table/keys.ts'
import type { Table } from '#shared/platform/table/table.ts'
import { printLine } from './command.ts'
import { openTable, stackCommand } from './deployment.ts'
import { auditOfOperator } from './tenant-records.ts'

const usage = `usage: npm run -s purge-tenant -- --tenant T --yes [--with-audit] [--stack NAME]
Deletes the data of a tenant in the table permanently. --with-audit also deletes its audit records. Idempotency records
and files expire later. Users remain in the user pool.`

/** Small enough that the items of a batch stay below the 4 MB of a transaction. */
const batch = 25
/** Keys are printable, so every sort key is in this range. */
const [low, high] = [' ', '\u{10ffff}']

/**
 * Deletes the items of a tenant. An interrupted run continues when it is repeated.
 * @returns how many items of each entity were deleted
 */
export async function purgeTenant(
  table: Table,
  clock: Clock,
  tenant: string,
  { withAudit }: { withAudit: boolean },
): Promise<Partial<Record<Entity, number>>> {
  const deleted: Partial<Record<Entity, number>> = {}
  for (const entity of Object.keys(entities) as Entity[]) {
    if (entity === 'audit' && !withAudit) continue
    for (const partition of partitionsOf(tenant, entity))
      deleted[entity] = (deleted[entity] ?? 0) + (await purgePartition(table, partition))
  }
  if (!withAudit) {
    const entry = { action: 'tenant.purge', target: 'tenant', after: { ...deleted } }
    await table.transact([auditOfOperator(tenant, entry, clock)])
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

if (import.meta.main) {
  const options = { tenant: 'required', yes: 'flag', 'with-audit': 'flag' } as const
  await stackCommand(usage, options, async ({ tenant, yes, 'with-audit': withAudit }, stack) => {
    if (!yes) throw new Error('nothing was deleted: confirm with --yes')
    printLine({ tenant, deleted: await purgeTenant(openTable(stack), systemClock, tenant, { withAudit }) })
  })
}
