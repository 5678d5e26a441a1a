import type { Answer, Service } from './service.ts'

/** The body of a valid order. */
export const order = { cart_id: 'cart-1', amount_minor: 1250, currency: 'EUR' }

interface Placing {
  key?: string
  headers?: Record<string, string>
  body?: unknown
}

/** Places an order of a tenant, with a new key by default. */
export function placeOrder(service: Service, tenant: string, how: Placing = {}): Promise<Answer> {
  const { key = crypto.randomUUID(), headers, body = order } = how
  return service.call({
    method: 'POST',
    path: '/v1/orders',
    as: { tenant, role: 'Editor' },
    headers: { 'Idempotency-Key': key, ...headers },
    body,
  })
}
