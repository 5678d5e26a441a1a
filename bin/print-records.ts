import { parseArgs } from 'node:util'
import type { Entity } from '#shared/platform/table/keys.ts'
import { needed } from './command.ts'
import { deployedStack, openTable } from './deployment.ts'
import { itemsOf } from './entity-records.ts'

/** Prints the items of a tenant for an entity as JSON lines, oldest first. The command line has tenant and stack. */
export async function printRecords(entity: Entity): Promise<void> {
  const text = { type: 'string' } as const
  const { values } = parseArgs({ options: { tenant: text, stack: text } })
  const tenant = needed(values.tenant, 'tenant')
  const table = openTable(await deployedStack(values.stack))
  for await (const { pk: _pk, sk: _sk, ...record } of itemsOf(table, tenant, entity))
    console.log(JSON.stringify(record))
}
