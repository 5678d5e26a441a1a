import { removeHoldCount, requireNoHolds } from '#shared/holds/legal-hold.ts'
import { type Entity, entities, type Item, type Key, partitionsOf } from '#shared/platform/table/keys.ts'
import type { Change, Update } from '#shared/platform/table/table.ts'
import type { Report } from '../cli/output.ts'
import { auditOfOperator, type Operator } from './tenant-records.ts'

/** Small enough that the items of a batch stay below the 4 MB of a transaction. */
const batch = 25
/** Keys are printable, so every sort key is in this range. */
const [low, high] = [' ', '\u{10ffff}']

/** The number of deleted items of each entity. */
type Deleted = Partial<Record<Entity, number>>

interface Options {
  withAudit: boolean
  /** Also purges a name without data. */
  force?: boolean
  report?: Report
}

/** The data of a tenant that is not in its partitions, and when each is gone. */
export const remaining: Readonly<Record<string, string>> = {
  'received events': 'expire after webhooks.inboxDays',
  'idempotency records': 'expire after idempotency.lifetimeHours',
  'import files and exports': 'the lifecycle rule of the bucket deletes them',
  'point-in-time recovery': 'ends after 35 days',
  'backups and their copies': 'kept as storage.backups says',
  'archive of published events': 'kept as events.replay says',
  users: 'remain in the user pool',
}

/**
 * Deletes the items of a tenant. The audit records the start, and the end with the counts. An interrupted run continues
 * when it is repeated, and then counts what both have deleted.
 * @returns how many items of each entity were deleted
 * @throws Error for a name without data, unless it is forced; while anything of the tenant is under legal hold. A hold
 *   that is set during a purge stops it before its next batch.
 */
export async function purgeTenant(operator: Operator, tenant: string, options: Options): Promise<Deleted> {
  const { withAudit, force = false, report = () => {} } = options
  const { table } = operator
  const purged = (Object.keys(entities) as Entity[]).filter(
    (entity) => entity !== 'legal_hold' && (entity !== 'audit' || withAudit),
  )
  await transactUnlessHeld(operator, tenant, [])
  const earlier = await table.get(progressKey(tenant))
  if (!(force || earlier || (await hasItems(operator, tenant, purged))))
    throw new Error(`no data of a tenant ${tenant} was found: check the name, or use --force`)
  if (!earlier)
    await transactUnlessHeld(operator, tenant, [
      begin(tenant),
      auditOf(operator, tenant, { state: 'started' }),
    ])
  for (const [at, entity] of purged.entries()) {
    report(entity, at / purged.length)
    for (const partition of partitionsOf(tenant, entity))
      await purgePartition(operator, tenant, { entity, partition })
  }
  const { pk, sk, ...counts }: Item = (await table.get(progressKey(tenant))) ?? { ...progressKey(tenant) }
  const deleted = Object.fromEntries(purged.map((entity) => [entity, Number(counts[entity] ?? 0)]))
  const end: Change = { remove: { pk, sk }, condition: 'none' }
  const ended = [end, removeHoldCount(tenant), ...(withAudit ? [] : [auditOf(operator, tenant, deleted)])]
  if (await table.transact(ended)) throw underHold(tenant)
  return deleted
}

/** @throws Error while anything of the tenant is under legal hold */
async function transactUnlessHeld({ table }: Operator, tenant: string, changes: Change[]): Promise<void> {
  const refusal = await table.transact([requireNoHolds(tenant), ...changes])
  if (refusal?.index === 0) throw underHold(tenant)
}

function underHold(tenant: string): Error {
  return new Error(`the tenant has data under legal hold: \`holds list --tenant ${tenant}\` shows all holds`)
}

/** The item that counts what a purge has deleted, until the purge ends. It is in no partition of the tenant. */
function progressKey(tenant: string): Key {
  return { pk: `purge#${tenant}`, sk: 'purge' }
}

function begin(tenant: string): Change {
  return { item: { ...progressKey(tenant) }, condition: { absent: true } }
}

function auditOf(operator: Operator, tenant: string, after: Record<string, unknown>): Change {
  return auditOfOperator(operator, tenant, { action: 'tenant.purge', target: 'tenant', after })
}

async function hasItems({ table }: Operator, tenant: string, purged: readonly Entity[]): Promise<boolean> {
  const partitions = purged.flatMap((entity) => partitionsOf(tenant, entity))
  for (const partition of partitions) {
    const { items } = await table.readRange({ partition, low, high, descending: false, limit: 1 })
    if (items.length > 0) return true
  }
  return false
}

/** Deletes the items of a partition. Each batch is counted in the transaction that deletes it. */
async function purgePartition(
  operator: Operator,
  tenant: string,
  { entity, partition }: { entity: Entity; partition: string },
): Promise<void> {
  for (;;) {
    const range = { partition, low, high, descending: false, limit: batch }
    const { items } = await operator.table.readRange(range)
    if (items.length === 0) return
    const count: Update = {
      update: progressKey(tenant),
      set: {},
      add: { [entity]: items.length },
      condition: 'none',
    }
    const removals = items.map(({ pk, sk }) => ({ remove: { pk, sk }, condition: 'none' as const }))
    await transactUnlessHeld(operator, tenant, [...removals, count])
  }
}
