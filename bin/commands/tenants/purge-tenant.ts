import { removeHoldCount, requireNoHolds } from '#shared/holds/legal-hold.ts'
import { cancelOperation } from '#shared/operations/end-operation.ts'
import { findOperation } from '#shared/operations/operation-store.ts'
import { blockMilliseconds } from '#shared/platform/identity/blocked-tenants.ts'
import {
  type Entity,
  entities,
  type Item,
  type Key,
  partitionsOf,
  pendingKeyOf,
} from '#shared/platform/table/keys.ts'
import { pendingEntries } from '#shared/platform/table/pending-entries.ts'
import type { Change, Refusal, Update } from '#shared/platform/table/table.ts'
import { ownerKey } from '#shared/refunds/accounts.ts'
import { positionKey } from '#shared/refunds/reconcile-daily.ts'
import type { Report } from '../../cli/output.ts'
import { pendingSagasOf, tryNow } from '../refunds/pending-sagas.ts'
import { auditOfOperator, type Operator } from '../stack/operator-audit.ts'
import { blockTenant } from './block-tenant.ts'
import { LeaseLost, maxPurgeWaitMilliseconds, type PurgeLease, purgeLease } from './purge-lease.ts'
import { allSortKeys, occupied, requireData } from './tenant-data.ts'

/** The maximum number of items that a transaction deletes. */
const batch = 25
/** The maximum bytes of these items, as JSON: a transaction takes 4 MB. */
const batchBytes = 3_000_000
/** How often a purge looks whether imports and refunds have ended, in milliseconds. */
const pollMilliseconds = 5000
/** The action in the audit records of a purge. The first one says that it was started. */
export const purgeAction = 'tenant.purge'
/** The number of deleted items of each entity. */
type Deleted = Partial<Record<Entity, number>>

interface Options {
  withAudit: boolean
  /** Also purges a name without data. */
  force?: boolean
  /** The lease of a blocked tenant. */
  lease?: PurgeLease
  report?: Report
}

/** The data of a tenant that is not in its partitions, and when each is gone. */
export const remaining: Readonly<Record<string, string>> = {
  'received events': 'expire after webhooks.inboxDays',
  'names of failed deliveries and imports':
    'expire after deliveries.retentionDays and operations.retentionDays',
  'idempotency records': 'expire after idempotency.lifetimeHours',
  'import files and exports': 'the lifecycle rule of the bucket deletes them',
  'point-in-time recovery': 'ends after 35 days',
  'backups and their copies': 'kept as storage.backups says',
  'archive of published events': 'kept as events.replay says',
  'addresses and URLs in traces': 'X-Ray deletes them after 30 days',
  users: 'remain in the user pool',
}

/**
 * Blocks a tenant, waits until nothing writes in it any more, and deletes its items. The block stays: the tokens of the
 * tenant are still valid, and its users still exist.
 * @returns how many items of each entity were deleted
 * @throws Error for a name without data, unless it is forced; if imports or refunds of the tenant do not end; while
 *   anything of the tenant is under legal hold
 */
export async function purgeTenant(operator: Operator, tenant: string, options: Options): Promise<Deleted> {
  const { withAudit, force = false } = options
  const { table, clock } = operator
  await transactUnlessHeld(operator, tenant, [])
  const earlier = await table.get(progressKey(tenant))
  if (!force && !earlier) await requireData(operator, tenant, purgedEntities(withAudit))
  const lease = purgeLease(tenant, clock)
  await table.transact([lease.take])
  try {
    await blockTenant(operator, tenant, { force: true })
    return await purgeBlocked(operator, tenant, { ...options, lease })
  } catch (thrown) {
    await table.transact([lease.removal])
    throw thrown
  }
}

async function purgeBlocked(operator: Operator, tenant: string, options: Options): Promise<Deleted> {
  const { report = () => {} } = options
  try {
    report('wait for requests', 0)
    await operator.clock.sleep(blockMilliseconds)
    await endWork(operator, tenant, report)
    return await deleteTenant(operator, tenant, options)
  } catch (cause) {
    if (cause instanceof LeaseLost) throw cause
    const advice = `repeat the purge, or let its callers in again with \`tenants unblock ${tenant}\``
    throw new Error(`${(cause as Error).message}. ${tenant} stays blocked: ${advice}`, { cause })
  }
}

/**
 * Deletes the items of a tenant in which nobody writes. The audit records the start, and the end with the counts. An
 * interrupted run continues when it is repeated, and then counts what both have deleted.
 * @returns how many items of each entity were deleted
 * @throws Error while anything of the tenant is under legal hold. A hold that is set during a purge stops it before its
 *   next batch.
 */
export async function deleteTenant(operator: Operator, tenant: string, options: Options): Promise<Deleted> {
  const { withAudit, report = () => {}, lease } = options
  const { table } = operator
  const purged = purgedEntities(withAudit)
  const earlier = await table.get(progressKey(tenant))
  if (!earlier)
    await transactUnlessHeld(
      operator,
      tenant,
      [begin(tenant), auditOf(operator, tenant, { state: 'started' })],
      lease,
    )
  for (const [at, entity] of purged.entries()) {
    report(entity, at / purged.length)
    for (const partition of await occupied(operator, partitionsOf(tenant, entity)))
      await purgePartition(operator, tenant, { entity, partition, lease })
  }
  const { pk, sk, ...counts }: Item = (await table.get(progressKey(tenant))) ?? { ...progressKey(tenant) }
  const deleted = Object.fromEntries(purged.map((entity) => [entity, Number(counts[entity] ?? 0)]))
  const end: Change = { remove: { pk, sk }, condition: 'none' }
  const ended: Change[] = [removeHoldCount(tenant), lease?.removal ?? [], end].flat()
  if (!withAudit) ended.push(auditOf(operator, tenant, deleted))
  assertAccepted(await table.transact(ended), tenant, lease)
  return deleted
}

/** @throws Error while anything of the tenant is under legal hold; if another run has the lease */
async function transactUnlessHeld(
  { table }: Operator,
  tenant: string,
  changes: Change[],
  lease?: PurgeLease,
): Promise<void> {
  const leased = lease ? [lease.renew()] : []
  assertAccepted(await table.transact([requireNoHolds(tenant), ...leased, ...changes]), tenant, lease)
}

/** @throws Error if the first condition, on holds, was refused, or the second one, on the lease */
function assertAccepted(refusal: Refusal | undefined, tenant: string, lease: PurgeLease | undefined): void {
  if (refusal?.index === 0) throw underHold(tenant)
  if (lease && refusal?.index === 1) throw new LeaseLost()
}

function underHold(tenant: string): Error {
  return new Error(`the tenant has data under legal hold: \`holds list --tenant ${tenant}\` shows all holds`)
}

/** Returns the entities to delete. The audit is the last, because the deletion of the others stops its writers. */
export function purgedEntities(withAudit: boolean): Entity[] {
  const kept = ['audit', 'legal_hold']
  const others = (Object.keys(entities) as Entity[]).filter((entity) => !kept.includes(entity))
  return withAudit ? [...others, 'audit'] : others
}

/**
 * Cancels the imports of a blocked tenant, and waits for them and for its interrupted refunds. These are made due, whatever
 * their pause, so the sweeper tries them each minute.
 * @throws Error if some do not end: what a refund in flight pays must be booked
 */
async function endWork(operator: Operator, tenant: string, report: Report): Promise<void> {
  const { table, clock } = operator
  const until = clock.now() + maxPurgeWaitMilliseconds
  for (;;) {
    const operations = await pendingEntries(table, 'pending-operation')
    const imports = operations.filter((entry) => entry.tenant === tenant)
    const refunds = await pendingSagasOf(operator, tenant)
    if (imports.length + refunds.length === 0) return
    await tryNow(operator, refunds)
    for (const { sk } of imports) {
      const operation = await findOperation(table, { tenant, operation_id: sk })
      const { writes } = operation
        ? await cancelOperation(operation, { table, now: () => clock.now() })
        : { writes: [] }
      // If the import has changed meanwhile, the next round cancels it.
      if (writes.length > 0) await table.transact(writes.map(({ onFailure: _, ...change }) => change))
    }
    const waiting = `${imports.length} imports and ${refunds.length} refunds`
    if (clock.now() >= until) {
      const settle = refunds.length > 0 ? `: end each refund with \`refunds settle\`` : ''
      throw new Error(`${waiting} of ${tenant} do not end${settle}`)
    }
    report(`wait for ${waiting}`, 0)
    await clock.sleep(pollMilliseconds)
  }
}

/** The item that counts what a purge has deleted, until the purge ends. It is in no partition of the tenant. */
export function progressKey(tenant: string): Key {
  return { pk: `purge#${tenant}`, sk: 'purge' }
}

function begin(tenant: string): Change {
  return { item: { ...progressKey(tenant) }, condition: { absent: true } }
}

function auditOf(operator: Operator, tenant: string, after: Record<string, unknown>): Change {
  return auditOfOperator(operator, tenant, { action: purgeAction, target: 'tenant', after })
}

/** Deletes the items of a partition. Each batch is counted in the transaction that deletes it. */
async function purgePartition(
  operator: Operator,
  tenant: string,
  { entity, partition, lease }: { entity: Entity; partition: string; lease: PurgeLease | undefined },
): Promise<void> {
  for (;;) {
    const { items: read } = await operator.table.readRange({ ...allSortKeys, partition, limit: batch })
    if (read.length === 0) return
    let bytes = 0
    const items = read.filter((item, at) => {
      bytes += Buffer.byteLength(JSON.stringify(item))
      return at === 0 || bytes <= batchBytes
    })
    const count: Update = {
      update: progressKey(tenant),
      set: {},
      add: { [entity]: items.length },
      condition: 'none',
    }
    const keys: Key[] = items.map(({ pk, sk }) => ({ pk, sk }))
    // The entries by which the sweeps find subscribers are in no partition of the tenant.
    if (entity === 'subscriber')
      keys.push(...items.map(({ sk }) => pendingKeyOf('registered-subscriber', sk)))
    // Neither are the names of the owners of accounts, and the positions of their daily comparison.
    if (entity === 'account') keys.push(...items.flatMap(({ sk }) => [ownerKey(sk), positionKey(tenant, sk)]))
    const removals = keys.map((remove) => ({ remove, condition: 'none' as const }))
    await transactUnlessHeld(operator, tenant, [...removals, count], lease)
  }
}
