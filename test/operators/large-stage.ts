import { derivedIdAt, timeOf, timestamp } from '#shared/platform/base/clock.ts'
import type { Units } from '#shared/platform/base/units.ts'
import { type Entity, type Item, keyOf, maxShards } from '#shared/platform/table/keys.ts'
import type { RangeRead, Table } from '#shared/platform/table/table.ts'

/** A stage whose tenants have items of an entity at equal intervals until a time. */
export interface LargeStage {
  entity: Entity
  tenants: number
  /** The items of each tenant. */
  items: number
  /** The time of the latest item, in milliseconds since 1970. */
  end: number
  intervalMilliseconds: number
  /** Returns the attributes of an item. The latest item has the number 0. */
  attributesOf(number: number, at: number): Record<string, unknown>
}

const unitBytes = 4096

/**
 * Returns a table that computes its items when they are read: 50 tenants of 100,000 items take no memory. It charges as DynamoDB
 * does: a unit for each 4 KB of a query, at least one.
 */
export function largeStage(stage: LargeStage, units: Units): Pick<Table, 'readRange'> {
  const { entity, end, intervalMilliseconds, items: count } = stage
  const itemOf = (tenant: string, number: number): Item => {
    const at = end - number * intervalMilliseconds
    const shard = (number % maxShards).toString(16).padStart(2, '0')
    const id = derivedIdAt(at, `${tenant}|${number}`).slice(0, -2) + shard
    return { ...keyOf(tenant, entity, id), ...stage.attributesOf(number, at) }
  }
  return {
    async readRange({ partition, low, high, descending, limit }): Promise<RangeRead> {
      const [name, tenant = '', shard = ''] = partition.split('#')
      const isKnown = name === entity && Number(tenant.slice(1)) < stage.tenants
      const newest = Math.max(0, Math.floor((end - timeOf(high)) / intervalMilliseconds))
      const oldest = Math.min(count - 1, Math.ceil((end - timeOf(low)) / intervalMilliseconds))
      const first = newest + ((Number(shard) - (newest % maxShards) + maxShards) % maxShards)
      const found: Item[] = []
      if (!descending) throw new Error('lists read the latest first')
      for (let number = first; isKnown && number <= oldest && found.length < limit; number += maxShards) {
        const item = itemOf(tenant, number)
        if (low <= item.sk && item.sk <= high) found.push(item)
      }
      const bytes = found.reduce((sum, item) => sum + Buffer.byteLength(JSON.stringify(item)), 0)
      units.read += Math.max(1, Math.ceil(bytes / unitBytes))
      return { items: found, exhausted: found.length < limit }
    },
  }
}

/** Returns an audit record of a large stage. */
export function auditRecord(number: number, at: number): Record<string, unknown> {
  return {
    ...{ actor_id: `u${number % 7}`, role: 'Editor', token_sub: `u${number % 7}` },
    ...{ issuer: 'https://id.example', tenant_id: 't0', action: 'update', target: `code/${number}` },
    ...{ correlation_id: `c-${number}`, at: timestamp(at), result: 'allow', reason: 'allowed' },
    before: { state: 'active', expiry_at: '2026-12-31T00:00:00.000Z' },
    after: { state: 'inactive', expiry_at: '2027-12-31T00:00:00.000Z' },
  }
}
