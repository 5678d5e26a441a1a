import { parseArgs } from 'node:util'
import { type Clock, systemClock, timestamp } from '#shared/platform/base/clock.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import type { Put, Table } from '#shared/platform/table/table.ts'
import { needed, run } from './command.ts'
import { deployedStack, openTable, stackUsage } from './deployment.ts'
import { auditOfOperator } from './operator.ts'

const usage = `usage: npm run -s erase-order -- --tenant T --id ID [--stack NAME]
Erases the record of an order for good. What is left says only that there was one, and callers are answered as the
profile says for such an order. The stored answer to its creation goes by itself when its idempotency record expires.
${stackUsage}`

const mostTries = 5

/**
 * Replaces an order with a tombstone and writes an audit record, in one transaction. Erasing again changes nothing.
 * @returns whether there was an order to erase
 * @throws Error if the tenant has no such order
 */
export async function eraseOrder(table: Table, clock: Clock, tenant: string, id: string): Promise<boolean> {
  const key = keyOf(tenant, 'order', id)
  for (let tries = 1; tries <= mostTries; tries += 1) {
    const order = await table.get(key)
    if (!order) throw new Error('the tenant has no such order')
    if (order.erased_at !== undefined) return false
    const version = Number(order.version)
    const tombstone: Put = {
      item: { ...key, id, version: version + 1, erased_at: timestamp(clock.now()) },
      condition: { matches: { version } },
    }
    const entry = { action: 'order.erase', target: `order/${id}` }
    if (!(await table.transact([tombstone, auditOfOperator(tenant, entry, clock)]))) return true
  }
  throw new Error('the order keeps changing: try again')
}

async function main(): Promise<void> {
  const text = { type: 'string' } as const
  const { values } = parseArgs({ options: { tenant: text, id: text, stack: text } })
  const [tenant, id] = [needed(values.tenant, 'tenant'), needed(values.id, 'id')]
  const table = openTable(await deployedStack(values.stack))
  console.log(JSON.stringify({ order_id: id, erased: await eraseOrder(table, systemClock, tenant, id) }))
}

if (import.meta.main) await run(usage, main)
