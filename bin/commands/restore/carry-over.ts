import { DescribeTableCommand, DynamoDBClient, type TableDescription } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { asOrder, cartEntryKey } from '#shared/orders/order.ts'
import { firstIdAt, minuteMilliseconds } from '#shared/platform/base/clock.ts'
import type { SagaEntry } from '#shared/platform/idempotency/pending-saga.ts'
import { blockedTenantsKey } from '#shared/platform/identity/blocked-tenants.ts'
import {
  type Entity,
  type Item,
  type Key,
  keyOf,
  ownerOf,
  type PartitionKind,
  partitionsOf,
  pendingPartitionsOf,
} from '#shared/platform/table/keys.ts'
import { restoredKey } from '#shared/platform/table/restored.ts'
import { positionKey } from '#shared/refunds/reconcile-daily.ts'
import { forgetSubscribedTenants } from '#shared/subscribers/subscribed-tenants.ts'
import type { Report } from '../../cli/output.ts'
import { type DeployedStack, outputOf } from '../stack/deployment.ts'
import { operatorOn } from '../stack/operator.ts'
import type { Operator } from '../stack/operator-audit.ts'
import { progressKey, purgeAction, purgedEntities } from '../tenants/purge-tenant.ts'
import { kindsOf, prefixOf } from './carried.ts'
import {
  type Copying,
  hasItems,
  itemsAt,
  pagesOf,
  putOf,
  removeRequest,
  scanAll,
  writeAll,
} from './copying.ts'

interface CarryOver extends Copying {
  /** The operator on the target. */
  operator: Operator
  /** The time of the restore. */
  from: Date
  report?: Report
}

/** What was carried over of a kind of items, or the deletion of a tenant that was purged since. */
interface CarriedOver {
  items: string
  copied: number
  removed: number
}

/** An event may be delivered later than it occurred. */
const deliveryMarginMilliseconds = 24 * 3600 * 1000

/**
 * Carries over to a restored table what it must not lose, as `carried.ts` says for each kind of items, and marks it as
 * restored. It can be repeated. It reads both tables as a whole.
 */
export async function carryOver({
  from,
  operator,
  report = () => {},
  ...copying
}: CarryOver): Promise<CarriedOver[]> {
  const { client, source, target } = copying
  const done = new Map<string, CarriedOver>()
  /** The items in the source of which the target has no others. */
  const kept = new Set<string>()
  const copiedDeliveries = new Set<string>()
  let blocked: string[] = []
  const purged = new Set<string>()
  const firstDelivery = firstIdAt(from.getTime() - deliveryMarginMilliseconds)
  const first: Partial<Record<PartitionKind, string>> = {
    // The audit record that sums equal denials has the time of its minute.
    audit: firstIdAt(from.getTime() - (from.getTime() % minuteMilliseconds)),
    delivery: firstDelivery,
    'failed-delivery': firstDelivery,
  }

  await scanAll(client, source, carriedItems(), copy)
  await scanAll(client, target, anyOf(kindsOf('now').map((kind) => ofKind(kind))), removeOthers)
  for (const tenant of purged) await repeatPurge(tenant, purgedEntities(false))
  for (const tenant of blocked) await repeatUnrecordedPurge(tenant)
  // The list of the restore lacks the subscribers since, and a list that is known to be empty is never made again.
  await operator.table.transact([forgetSubscribedTenants])
  await writeAll(copying, [putOf({ ...restoredKey, at: operator.clock.now() })])
  return [...done.values()]

  function carriedItems() {
    const since = kindsOf('since').map((kind) => ofKind(kind, { attribute: 'sk', value: first[kind] ?? '' }))
    // An erasure has the time of its start, and may be committed later.
    const firstErasure = new Date(from.getTime() - minuteMilliseconds).toISOString()
    const erased = kindsOf('erasures').map((kind) =>
      ofKind(kind, { attribute: 'erased_at', value: firstErasure }),
    )
    return anyOf([...kindsOf('now').map((kind) => ofKind(kind)), ...since, ...erased])
  }

  async function copy(page: Item[]): Promise<void> {
    const entries = await entriesOfErased(page)
    // A batch is not atomic: a repeated run finds the entries only by the orders that tombstones replace.
    await writeAll(copying, entries.map(removeRequest))
    await writeAll(copying, page.map(putOf))
    await copyDeliveries(page)
    const exact = new Set<string>(kindsOf('now'))
    for (const item of page) {
      count(item, 'copied')
      if (exact.has(ownerOf(item.pk).kind)) kept.add(item.pk + item.sk)
      if (item.pk === blockedTenantsKey.pk) blocked = item.tenants as string[]
      // A purge in the minute before the time of the restore is no loss.
      if (isEndOfPurge(item) && item.sk >= firstIdAt(from.getTime())) purged.add(ownerOf(item.pk).tenant)
    }
    report(`${[...done.values()].reduce((sum, { copied }) => sum + copied, 0)} items copied`)
  }

  /** Returns the entries of the carts of orders that were erased since. The tombstones no longer name the carts. */
  async function entriesOfErased(page: readonly Item[]): Promise<Key[]> {
    const erased = page.filter(({ erased_at }) => erased_at !== undefined)
    const orders = await itemsAt(
      client,
      target,
      erased.map(({ pk, sk }) => ({ pk, sk })),
    )
    return orders.filter(({ cart_id }) => cart_id !== undefined).map((order) => cartEntryKey(asOrder(order)))
  }

  async function removeOthers(page: Item[]): Promise<void> {
    // A run that is interrupted must find the entries of these deliveries again.
    await copyDeliveries(page)
    const others = page.filter(({ pk, sk }) => !kept.has(pk + sk))
    await writeAll(copying, others.map(removeRequest))
    for (const item of others) count(item, 'removed')
  }

  /** Carries over older deliveries that wait now, or waited at the time of the restore and have ended or expired since. */
  async function copyDeliveries(page: readonly Item[]): Promise<void> {
    const keys = new Map<string, Key>()
    for (const { pk, delivery } of page) {
      const { kind, tenant } = ownerOf(pk)
      const id = String(delivery)
      if (kind !== 'waiting_delivery' || id >= firstDelivery || copiedDeliveries.has(id)) continue
      copiedDeliveries.add(id)
      keys.set(id, keyOf(tenant, 'delivery', id))
    }
    const items = await itemsAt(client, source, [...keys.values()])
    await writeAll(copying, items.map(putOf))
    for (const item of items) {
      count(item, 'copied')
      keys.delete(item.sk)
    }
    await writeAll(copying, [...keys.values()].map(removeRequest))
  }

  /**
   * Deletes a tenant that was purged since with its audit, of which no record is left: such a purge leaves its tenant
   * blocked and without data.
   */
  async function repeatUnrecordedPurge(tenant: string): Promise<void> {
    const withAudit = !(await hasItems(client, source, partitionsOf(tenant, 'audit')))
    if ((await hasData(source, tenant, withAudit)) || !(await hasData(target, tenant, withAudit))) return
    await repeatPurge(tenant, purgedEntities(withAudit))
  }

  /** Deletes what a tenant had before it was purged. What was copied is of the next owner of its name, and stays. */
  async function repeatPurge(tenant: string, entities: readonly Entity[]): Promise<void> {
    report(`purging ${tenant}`)
    const restored = new Set<string>(kindsOf('restored'))
    let removed = 0
    for (const partition of pendingPartitionsOf('pending-saga')) await purgeSagas(partition)
    for (const entity of entities) await Promise.all(partitionsOf(tenant, entity).map(purgePartition))
    await purgePartition(positionKey(tenant, '').pk)
    // A purge that had begun at the time of the restore has ended.
    await writeAll(copying, [removeRequest(progressKey(tenant))])
    if (removed > 0) done.set(`tenant#${tenant}`, { items: `tenant ${tenant}`, copied: 0, removed })

    /** Sagas are in no partition of the tenant. An interrupted run finds their records again by their entries. */
    async function purgeSagas(partition: string): Promise<void> {
      for await (const page of pagesOf(client, target, partition)) {
        const entries = page.filter((entry) => entry.tenant === tenant)
        await writeAll(
          copying,
          (entries as unknown as SagaEntry[]).map(({ record }) => removeRequest(record)),
        )
        await writeAll(copying, entries.map(removeRequest))
        removed += 2 * entries.length
      }
    }

    async function purgePartition(partition: string): Promise<void> {
      for await (const page of pagesOf(client, target, partition)) {
        const keys = page.map(({ pk, sk }) => ({ pk, sk }))
        const copied = restored.has(ownerOf(partition).kind) ? [] : await itemsAt(client, source, keys)
        const stays = new Set(copied.map(({ sk }) => sk))
        const others = keys.filter(({ sk }) => !stays.has(sk))
        await writeAll(copying, others.map(removeRequest))
        removed += others.length
      }
    }
  }

  async function hasData(table: string, tenant: string, withAudit: boolean): Promise<boolean> {
    for (const entity of purgedEntities(withAudit))
      if (await hasItems(client, table, partitionsOf(tenant, entity))) return true
    return false
  }

  function count({ pk }: Item, change: 'copied' | 'removed'): void {
    const { kind } = ownerOf(pk)
    const counts = done.get(kind) ?? { items: kind, copied: 0, removed: 0 }
    counts[change] += 1
    done.set(kind, counts)
  }
}

/** Returns whether an item is the audit record of a purge that has deleted its tenant. */
function isEndOfPurge({ pk, action, after }: Item): boolean {
  return (
    ownerOf(pk).kind === 'audit' &&
    action === purgeAction &&
    (after as { state?: string } | undefined)?.state !== 'started'
  )
}

interface CopyFilter {
  filter: string
  values: Record<string, string>
}

/** Selects the items of a kind; those whose attribute has at least a value, if one is given. */
function ofKind(kind: PartitionKind, from?: { attribute: 'sk' | 'erased_at'; value: string }): CopyFilter {
  const name = kind.replaceAll('-', '_')
  const values = { [`:${name}`]: prefixOf(kind), ...(from && { [`:${name}_from`]: from.value }) }
  const since = from ? ` AND ${from.attribute} >= :${name}_from` : ''
  return { filter: `(begins_with(pk, :${name})${since})`, values }
}

function anyOf(filters: readonly CopyFilter[]): CopyFilter {
  return {
    filter: filters.map(({ filter }) => filter).join(' OR '),
    values: Object.assign({}, ...filters.map(({ values }) => values)),
  }
}

/**
 * Carries over from a stack's table.
 * @throws Error for a target that was not restored from it; one that says what is lost if the table is gone, or is in
 *   another region
 */
export async function carryOverOf(
  stack: DeployedStack,
  options: Pick<CarryOver, 'target' | 'from' | 'report'>,
): Promise<CarriedOver[]> {
  // Throttled writes are repeated with growing pauses.
  const dynamodb = new DynamoDBClient({ ...stack.access, maxAttempts: 10 })
  const source = outputOf(stack, 'TableName')
  const target = await describe(options.target)
  if (!target) throw new Error(`there is no table ${options.target}`)
  assertRestoredFrom(await describe(source), target)
  const operator = await operatorOn({ ...stack, outputs: { ...stack.outputs, TableName: options.target } })
  return carryOver({ client: DynamoDBDocumentClient.from(dynamodb), source, operator, ...options })

  async function describe(TableName: string): Promise<TableDescription | undefined> {
    const described = await dynamodb.send(new DescribeTableCommand({ TableName })).catch((thrown: Error) => {
      if (thrown.name !== 'ResourceNotFoundException') throw thrown
    })
    return described?.Table
  }
}

/**
 * A carry-over deletes in its target, so a wrong name would destroy data.
 * @param source undefined if it is gone
 * @throws Error
 */
export function assertRestoredFrom(source: TableDescription | undefined, target: TableDescription): void {
  const { TableName: name, RestoreSummary: { SourceTableArn, SourceBackupArn } = {} } = target
  const origin = SourceTableArn ?? SourceBackupArn
  if (target.TableArn === source?.TableArn)
    throw new Error(`${name} is the table of the stack: carry over before the deployment that adopts it`)
  if (origin === undefined)
    throw new Error(
      `the table ${name} was not restored from another table: carry-over writes to no other one`,
    )
  if (!source) throw nothingCarriedOver('the table of the stack is gone')
  if (regionAndAccount(origin) !== regionAndAccount(source.TableArn ?? ''))
    throw nothingCarriedOver(`${name} was restored from another region or account: ${origin}`)
  if (SourceTableArn === source.TableArn || SourceBackupArn?.startsWith(`${source.TableArn}/backup/`)) return
  throw new Error(
    `the table ${name} was restored from ${origin}: carry-over writes only to a table restored from ${source.TableName}`,
  )
}

/** Returns the region and the account of an ARN. */
function regionAndAccount(arn: string): string {
  return arn.split(':').slice(3, 5).join()
}

function nothingCarriedOver(reason: string): Error {
  const kinds = kindsOf('now', 'since', 'erasures').map((kind) => `  ${kind.replaceAll(/[-_]/g, ' ')}`)
  return new Error(
    [`${reason}. Nothing was carried over. As at the time of the restore are:`, ...kinds].join('\n'),
  )
}
