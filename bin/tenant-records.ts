import { adjacentId, type Clock, largestId, newId, smallestId } from '#shared/platform/base/clock.ts'
import { type AuditEntry, auditItem } from '#shared/platform/idempotency/commit.ts'
import { readMerged } from '#shared/platform/listing/read-index.ts'
import { type Entity, type Item, partitionsOf } from '#shared/platform/table/keys.ts'
import type { Put, Table } from '#shared/platform/table/table.ts'

/** Yields all items of a tenant for an entity whose keys are ids, oldest first. */
export async function* itemsOf(table: Table, tenant: string, entity: Entity): AsyncGenerator<Item> {
  const partitions = partitionsOf(tenant, entity)
  for (let low = smallestId; ; ) {
    const range = { low, high: largestId, descending: false, limit: 500 }
    const { items, exhausted } = await readMerged(table, partitions, range)
    for (const item of items) {
      yield item
      low = adjacentId(item.sk, 1)
    }
    if (exhausted) return
  }
}

/** Yields the records of a tenant without their keys in the table, oldest first. */
export async function* recordsOf(table: Table, tenant: string, entity: Entity): AsyncGenerator<object> {
  for await (const { pk: _pk, sk: _sk, ...record } of itemsOf(table, tenant, entity)) yield record
}

/** Returns the audit record of an operator's action, to be written with that action. */
export function auditOfOperator(tenant: string, entry: AuditEntry, clock: Clock): Put {
  const operator = { sub: 'operator', tenant, role: undefined, scopes: new Set<string>(), claims: {} }
  const record = { reason: 'allowed', ...entry, result: 'allow' as const }
  return { item: auditItem(operator, record, newId(clock), clock), condition: { absent: true } }
}
