import { type Entity, entities, partitionsOf } from '#shared/platform/table/keys.ts'
import type { Operator } from '../stack/operator-audit.ts'

/** Keys are printable, so every sort key is in this range. */
export const allSortKeys = { low: ' ', high: '\u{10ffff}', descending: false } as const

/**
 * Checks that a name is that of a tenant.
 * @param among the entities whose items count
 * @throws Error for a name without data
 */
export async function requireData(
  operator: Operator,
  tenant: string,
  among = Object.keys(entities) as readonly Entity[],
): Promise<void> {
  for (const entity of among) {
    const partitions = await occupied(operator, partitionsOf(tenant, entity))
    if (partitions.length > 0) return
  }
  throw new Error(`no data of a tenant ${tenant} was found: check the name, or use --force`)
}

/** Returns those of the partitions that have items. */
export async function occupied({ table }: Operator, partitions: readonly string[]): Promise<string[]> {
  const reads = await Promise.all(
    partitions.map((partition) => table.readRange({ ...allSortKeys, limit: 1, partition })),
  )
  return partitions.filter((_, at) => (reads[at]?.items.length ?? 0) > 0)
}
