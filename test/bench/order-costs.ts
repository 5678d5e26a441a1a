import { timestamp } from '#shared/platform/base/clock.ts'
import { type Item, keyOf } from '#shared/platform/table/keys.ts'
import { idAt } from '#test/support/ids.ts'
import { fill } from './fill.ts'
import type { Meter } from './meter.ts'

const order = { cart_id: 'cart-0123456789abcdef', amount_minor: 1999, currency: 'EUR' }
const editor = { tenant: 'acme', role: 'Editor' }

/** Measures each request on orders. */
export async function orderCosts(
  { service, client, measure }: Meter,
  pageSize: number,
  pages: number,
): Promise<void> {
  await fill(client, service.tableName, orders('walked', pageSize * pages))
  const create = {
    method: 'POST',
    path: '/v1/orders',
    as: editor,
    headers: { 'Idempotency-Key': 'k' },
    body: order,
  }
  const { json } = await measure('create an order', create)
  await measure('replay it', create)
  await measure('read it', { path: `/v1/orders/${json.id}`, as: editor })
  await measure('read it as an Admin of another tenant', {
    path: `/v1/orders/${json.id}`,
    as: { tenant: 'head', role: 'Admin' },
  })
  await measure('read another tenant’s', {
    path: `/v1/orders/${json.id}`,
    as: { tenant: 'rival', role: 'Viewer' },
  })
  await measure('be denied by role', { ...create, as: { tenant: 'acme', role: 'Viewer' } })

  const walked = { tenant: 'walked', role: 'Viewer' }
  const list = `/v1/orders?page_size=${pageSize}`
  let page = await measure(`list page 1 of ${pageSize}`, { path: list, as: walked })
  for (let number = 2; number < pages; number += 1) {
    page = await service.call({ path: `${list}&cursor=${page.json.next_cursor}`, as: walked })
  }
  await measure(`list page ${pages}`, { path: `${list}&cursor=${page.json.next_cursor}`, as: walked })
  await measure('list, filtered to nothing', { path: `${list}&status=paid`, as: walked })
}

/** Creates orders of one tenant, one for each millisecond. */
function orders(tenant: string, count: number): Item[] {
  const start = Date.now() - count
  return Array.from({ length: count }, (_, n) => {
    const at = start + n
    const id = idAt(at)
    const times = { created_at: timestamp(at), updated_at: timestamp(at) }
    const known = { id, tenant_id: tenant, ...order, status: 'active', ...times, version: 1 }
    return { ...keyOf(tenant, 'order', id), ...known }
  })
}
