import { adjacentId, largestId, smallestId } from '#shared/platform/base/ids.ts'
import { readMerged } from '#shared/platform/listing/read-index.ts'
import { type Entity, type Item, partitionsOf } from '#shared/platform/table/keys.ts'
import type { Table } from '#shared/platform/table/table.ts'

const pageSize = 500

/** Yields all items of a tenant for an entity whose keys are ids, oldest first. */
export async function* itemsOf(table: Table, tenant: string, entity: Entity): AsyncGenerator<Item> {
  const partitions = partitionsOf(tenant, entity)
  for (let low = smallestId; ; ) {
    const range = { low, high: largestId, descending: false, limit: pageSize }
    const { items, exhausted } = await readMerged(table, partitions, range)
    for (const item of items) {
      yield item
      low = adjacentId(item.sk, 1)
    }
    if (exhausted) return
  }
}
