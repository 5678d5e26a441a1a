import { parseArgs } from 'node:util'
import { type Clock, systemClock } from '#shared/platform/base/clock.ts'
import { type Entity, entities, partitionsOf } from '#shared/platform/table/keys.ts'
import type { Table } from '#shared/platform/table/table.ts'
import { needed, run } from './command.ts'
import { deployedStack, openTable, stackUsage } from './deployment.ts'
import { auditOfOperator } from './operator.ts'

const usage = `usage: npm run -s purge-tenant -- --tenant T --yes [--with-audit] [--stack NAME]
Deletes everything that a tenant has in the table, for good. Its audit stays unless --with-audit says otherwise.
Idempotency records, which name no tenant, expire by themselves, files too; users stay in the user pool.
${stackUsage}`

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
  const purged = (Object.keys(entities) as Entity[]).filter((one) => withAudit || one !== 'audit')
  const deleted: Partial<Record<Entity, number>> = {}
  for (const entity of purged) {
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

async function main(): Promise<void> {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean' } as const
  const { values } = parseArgs({ options: { tenant: text, yes: flag, 'with-audit': flag, stack: text } })
  const tenant = needed(values.tenant, 'tenant')
  if (!values.yes) throw new Error('nothing was deleted: --yes says that it is meant')
  const table = openTable(await deployedStack(values.stack))
  const withAudit = values['with-audit'] === true
  console.log(
    JSON.stringify({ tenant, deleted: await purgeTenant(table, systemClock, tenant, { withAudit }) }),
  )
}

if (import.meta.main) await run(usage, main)
