import { timestamp } from '#shared/platform/base/clock.ts'
import { type Item, keyOf } from '#shared/platform/table/keys.ts'
import { idAt } from '#test/support/ids.ts'
import { fill } from './fill.ts'
import type { Meter } from './meter.ts'

const order = { cart_id: 'cart-0123456789abcdef', amount_minor: 1999, currency: 'EUR' }
const editor = { tenant: 'acme', role: 'Editor' }
/** The optional headers of a request that its events repeat. */
const traceHeaders = {
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: 'vendor=value',
  baggage: `shop=${'x'.repeat(495)}`,
}

/** Measures each request on orders. */
export async function orderCosts(
  { service, client, measure }: Meter,
  pageSize: number,
  pages: number,
): Promise<void> {
  const create = {
    method: 'POST',
    path: '/v1/orders',
    as: editor,
    headers: { 'Idempotency-Key': 'k' },
    body: order,
  }
  const { json } = await measure('create an order', create)
  const [stored] = await service.items('acme', 'order')
  await fill(client, service.tableName, copiesOf(stored as Item, 'walked', pageSize * pages))
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
  await measure('create an order with a trace and 500 bytes of baggage', {
    ...create,
    headers: { ...traceHeaders, 'Idempotency-Key': 'traced' },
  })

  const walked = { tenant: 'walked', role: 'Viewer' }
  const list = `/v1/orders?page_size=${pageSize}`
  let page = await measure(`list page 1 of ${pageSize}`, { path: list, as: walked })
  for (let number = 2; number < pages; number += 1) {
    page = await service.call({ path: `${list}&cursor=${page.json.next_cursor}`, as: walked })
  }
  await measure(`list page ${pages}`, { path: `${list}&cursor=${page.json.next_cursor}`, as: walked })
  const copies = (await service.items('walked', 'order')).map(({ id }) => String(id))
  const [oldest = '', newest = ''] = [copies[0], copies.at(-1)]
  await measure('find an order by its id in the list', { path: `${list}&id=${oldest}`, as: walked })
  await measure('find two orders by their ids', { path: `${list}&id.in=${oldest},${newest}`, as: walked })
  await measure('find the order of a cart', { path: `${list}&cart_id=${order.cart_id}`, as: editor })
  await measure('find no order of a cart', { path: `${list}&cart_id=unknown`, as: walked })
  await measure('list, filtered to all', { path: `${list}&status=active`, as: walked })
  await measure('list, filtered to nothing', { path: `${list}&status=paid`, as: walked })
}

/** Copies a stored order with its events to another tenant, one copy for each millisecond. */
function copiesOf(stored: Item, tenant: string, count: number): Item[] {
  const start = Date.now() - count
  return Array.from({ length: count }, (_, n) => {
    const at = start + n
    const id = idAt(at)
    const times = { created_at: timestamp(at), updated_at: timestamp(at) }
    return { ...stored, ...keyOf(tenant, 'order', id), id, tenant_id: tenant, ...times }
  })
}
