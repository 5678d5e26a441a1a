import { requireNoHold } from '#shared/holds/legal-hold.ts'
import { asOrder, cartEntryKey } from '#shared/orders/order.ts'
import { timestamp } from '#shared/platform/base/clock.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import type { Put, Remove } from '#shared/platform/table/table.ts'
import { erasedEvents } from '../dead-letters/rebuild-events.ts'
import { auditOfOperator, type Operator } from '../stack/operator-audit.ts'

const maxAttempts = 5

/**
 * Replaces an order with a tombstone and writes an audit record, in one transaction. Erasing again changes nothing.
 * @returns whether there was an order to erase
 * @throws Error if the tenant has no such order, or if the order or the tenant is under legal hold
 */
export async function eraseOrder(operator: Operator, tenant: string, id: string): Promise<boolean> {
  const { table, clock } = operator
  const key = keyOf(tenant, 'order', id)
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const order = await table.get(key)
    if (!order) throw new Error(`the tenant has no such order: ${id}`)
    if (order.erased_at !== undefined) return false
    const version = Number(order.version)
    const outbox = erasedEvents(order)
    const tombstone: Put = {
      item: {
        ...key,
        id,
        version: version + 1,
        erased_at: timestamp(clock.now()),
        ...(outbox && { outbox }),
      },
      condition: { matches: { version } },
    }
    const audited = { action: 'order.erase', target: `order/${id}` }
    const cartEntry: Remove = { remove: cartEntryKey(asOrder(order)), condition: 'none' }
    const holds = requireNoHold(tenant, 'order', id)
    const audit = auditOfOperator(operator, tenant, audited)
    const refusal = await table.transact([...holds, tombstone, cartEntry, audit])
    if (!refusal) return true
    if (refusal.index < holds.length)
      throw new Error(`the order is under legal hold: \`holds list --tenant ${tenant}\` shows why`)
  }
  throw new Error('the order changed during each attempt: try again')
}
