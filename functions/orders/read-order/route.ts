import { Order } from '#shared/orders/order.ts'
import { defineRoute } from '#shared/platform/request/route.ts'

export const route = defineRoute({
  operation: 'orders.read',
  method: 'GET',
  path: '/v1/orders/{id}',
  summary: 'Read an order',
  description:
    'Returns one order with its entity tag. An order of another tenant gets the same response as one that does not exist.',
  auth: 'bearer',
  access: 'read',
  idempotency: 'none',
  payloadKilobytes: 24,
  latency: { p95: 200, p99: 600 },
  reply: { status: () => 200, schema: Order.view, etag: true },
  errors: ['NOT_FOUND.order', 'GONE.order'],
  uses: [],
  table: { get: ['order'], find: ['order'] },
  impact: 'No order can be read by its id.',
})
