import { type Clock, largestId, newId, smallestId } from '#shared/platform/base/clock.ts'
import { type AuditEntry, auditItem } from '#shared/platform/idempotency/commit.ts'
import { readMerged } from '#shared/platform/listing/read-index.ts'
import { type Entity, type Item, partitionsOf } from '#shared/platform/table/keys.ts'
import type { Put, Table } from '#shared/platform/table/table.ts'

/** Yields all items of a tenant for an entity whose keys are ids, or start with ids, oldest first. */
export async function* itemsOf(table: Table, tenant: string, entity: Entity): AsyncGenerator<Item> {
  const partitions = partitionsOf(tenant, entity)
  for (let last: string | undefined; ; ) {
    const range = { low: last ?? smallestId, high: largestId, descending: false, limit: 500 }
    const { items, exhausted } = await readMerged(table, partitions, range)
    // The range includes the last item of the page before.
    for (const item of items) if (item.sk !== last) yield item
    if (exhausted) return
    last = items.at(-1)?.sk
  }
}

/** Yields the records of a tenant without their keys in the table, oldest first. */
export async function* recordsOf(table: Table, tenant: string, entity: Entity): AsyncGenerator<object> {
  for await (const { pk: _pk, sk: _sk, ...record } of itemsOf(table, tenant, entity)) yield record
}

/** An operator who changes the table of a deployment. */
export interface Operator {
  table: Table
  clock: Clock
  /** The actor in audit records. */
  name: string
}

/** Returns the audit record of an operator's action, to be written with that action. */
export function auditOfOperator({ name: sub, clock }: Operator, tenant: string, entry: AuditEntry): Put {
  const record = { reason: 'allowed', ...entry, result: 'allow' as const }
  const item = auditItem({ sub, tenant, role: undefined }, record, newId(clock), clock)
  return { item, condition: { absent: true } }
}
