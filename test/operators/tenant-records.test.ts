import { expect, test } from '@jest/globals'
import { recordsOf } from '#bin/commands/tenant-records.ts'
import { newId } from '#shared/platform/base/clock.ts'
import { type Entity, keyOf } from '#shared/platform/table/keys.ts'
import { memoryRuntime } from '#test/support/memory-runtime.ts'

const tenant = 'acme'

/** Stores more items than a page has. Returns their names in the order of their keys. */
async function fill(
  entity: Entity,
  suffixes: readonly string[],
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
  for await (const record of recordsOf(table, tenant, entity)) listed.push((record as { name: string }).name)
  return { stored, listed }
}

test.each([
  ['audit records', 'audit', ['']],
  ['ledger entries, of which a refund has several', 'ledger', ['#payout', '#reversal']],
] as const)('%s are listed once each, oldest first', async (_, entity, suffixes) => {
  const { stored, listed } = await fill(entity, suffixes)
  expect(listed).toEqual(stored)
})
