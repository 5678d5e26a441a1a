import { expect, test } from '@jest/globals'
import { recordsOf } from '#bin/commands/tenant-records.ts'
import { auditRecords } from '#shared/platform/audit/queries.ts'
import { newId } from '#shared/platform/base/clock.ts'
import { type Entity, keyOf } from '#shared/platform/table/keys.ts'
import type { Table } from '#shared/platform/table/table.ts'
import { memoryRuntime } from '#test/support/memory-runtime.ts'

const tenant = 'acme'

/** Stores more items than a page has. Returns their names in the order of their keys. */
async function fill(
  entity: Entity,
  suffixes: readonly string[],
  list: (table: Table, tenant: string) => AsyncIterable<object>,
): Promise<{ stored: string[]; listed: string[] }> {
  const { table, clock } = memoryRuntime()
  const stored: string[] = []
  for (let n = 0; n < 600; n += 1) {
    const key = keyOf(tenant, entity, newId(clock))
    clock.advance(1)
    for (const suffix of suffixes) {
      await table.put({ item: { ...key, sk: key.sk + suffix, name: `${n}${suffix}` }, condition: 'none' })
      stored.push(`${n}${suffix}`)
    }
  }
  const listed: string[] = []
  for await (const record of list(table, tenant)) listed.push((record as { name: string }).name)
  return { stored, listed }
}

test.each([
  ['audit records', 'audit', [''], auditRecords],
  [
    'ledger entries, of which a refund has several',
    'ledger',
    ['#payout', '#reversal'],
    (table: Table) => recordsOf(table, tenant, 'ledger'),
  ],
] as const)('%s are listed once each, oldest first', async (_, entity, suffixes, list) => {
  const { stored, listed } = await fill(entity, suffixes, list)
  expect(listed).toEqual(stored)
})
