import { Order } from '#shared/orders/order.ts'
import { orderListing } from '#shared/orders/order-listing.ts'
import { listEnvelope } from '#shared/platform/request/list-decision.ts'
import { defineRoute } from '#shared/platform/request/route.ts'
import { perSettings } from '#shared/settings/per-settings.ts'

export const route = defineRoute({
  operation: 'orders.list',
  method: 'GET',
  path: '/v1/orders',
  summary: 'List orders',
  description:
    'Returns one page of the orders of a tenant, newest first by default. Follow next_cursor with the same filters: no order is repeated or skipped, and orders placed after the first page was read are not included.',
  auth: 'bearer',
  access: 'list',
  idempotency: 'none',
  payloadKilobytes: 64,
  latency: { p95: 300, p99: 800 },
  listing: orderListing,
  reply: {
    status: () => 200,
    schema: perSettings((settings) => listEnvelope('OrderList', Order.view(settings))),
    etag: true,
  },
  errors: [],
  uses: ['secret.cursors'],
  table: { getMany: ['order'], query: ['order', 'order_cart'] },
  impact: 'Orders cannot be listed or searched.',
})
