import { type Clock, systemClock, timestamp } from '#shared/platform/base/clock.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import type { Put, Table } from '#shared/platform/table/table.ts'
import { printLine } from './command.ts'
import { openTable, stackCommand } from './deployment.ts'
import { auditOfOperator } from './tenant-records.ts'

const usage = `usage: npm run -s erase-order -- --tenant T --id ID [--stack NAME]
Erases an order permanently. Reading it then returns 410 or 404, as the setting orders.gone says. The stored response to
its creation remains until its idempotency record expires.`

const maxAttempts = 5

/**
 * Replaces an order with a tombstone and writes an audit record, in one transaction. Erasing again changes nothing.
 * @returns whether there was an order to erase
 * @throws Error if the tenant has no such order
 */
export async function eraseOrder(table: Table, clock: Clock, tenant: string, id: string): Promise<boolean> {
  const key = keyOf(tenant, 'order', id)
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const order = await table.get(key)
    if (!order) throw new Error(`the tenant has no such order: ${id}`)
    if (order.erased_at !== undefined) return false
    const version = Number(order.version)
    const tombstone: Put = {
      item: { ...key, id, version: version + 1, erased_at: timestamp(clock.now()) },
      condition: { matches: { version } },
    }
    const entry = { action: 'order.erase', target: `order/${id}` }
    if (!(await table.transact([tombstone, auditOfOperator(tenant, entry, clock)]))) return true
  }
  throw new Error('the order changed during each attempt: try again')
}

if (import.meta.main)
  await stackCommand(usage, { tenant: 'required', id: 'required' }, async ({ tenant, id }, stack) => {
    printLine({ order_id: id, erased: await eraseOrder(openTable(stack), systemClock, tenant, id) })
  })
