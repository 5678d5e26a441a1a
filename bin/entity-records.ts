import { beside, largestId, smallestId } from '#shared/platform/listing/ids.ts'
import { readMerged } from '#shared/platform/listing/merged-read.ts'
import { type Entity, partitionsOf } from '#shared/platform/table/keys.ts'
import type { Table } from '#shared/platform/table/table.ts'

const pageSize = 500

/** Everything that a tenant has of an entity whose keys are ids, oldest first, without its keys. */
export async function* entityRecords(
  table: Table,
  tenant: string,
  entity: Entity,
): AsyncGenerator<Record<string, unknown>> {
  const partitions = partitionsOf(tenant, entity)
  for (let low = smallestId; ; ) {
    const range = { low, high: largestId, descending: false, limit: pageSize }
    const { items, exhausted } = await readMerged(table, partitions, range)
    for (const { pk: _, sk, ...record } of items) {
      yield record
      low = beside(sk, 1)
    }
    if (exhausted) return
  }
}
