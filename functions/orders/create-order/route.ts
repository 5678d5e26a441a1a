import { Order } from '#shared/orders/order.ts'
import { defineRoute } from '#shared/platform/request/route.ts'

export const route = defineRoute({
  operation: 'orders.create',
  method: 'POST',
  path: '/v1/orders',
  summary: 'Place an order',
  description:
    'Places an order in the caller’s tenant. Repeating a request with the same Idempotency-Key and body returns the first response and places nothing.',
  auth: 'bearer',
  access: 'create',
  idempotency: 'required',
  payloadKilobytes: 32,
  latency: { p95: 400, p99: 1000 },
  body: Order.request,
  example: (settings) => ({
    cart_id: 'cart-1',
    amount_minor: 1999,
    currency: settings['orders.currencies'].find((one) => one === 'EUR') ?? settings['orders.currencies'][0],
  }),
  reply: {
    status: (settings) => settings['orders.createStatus'],
    schema: Order.view,
    etag: true,
    location: true,
  },
  errors: [],
  uses: [],
  table: { put: ['order', 'order_cart'] },
  impact: 'No order can be placed.',
})
