import type { Route } from '#shared/platform/http/route.ts'
import type { Service } from './service.ts'

/** What the guarantee tests need to know of an operation that its route does not say: one entry an operation. */
export interface Example {
  /** A valid body. */
  body?: unknown
  /** Makes what the path names, in a tenant, and returns the path variables. */
  given?: (service: Service, tenant: string) => Promise<Record<string, string>>
}

const order = { cart_id: 'cart-1', amount_minor: 1250, currency: 'EUR' }

export const examples: Record<string, Example> = {
  'orders.create': { body: order },
  'orders.read': {
    given: async (service, tenant) => {
      const answer = await service.call({
        method: 'POST',
        path: '/v1/orders',
        as: { tenant, role: 'Editor', sub: 'maker' },
        headers: { 'Idempotency-Key': crypto.randomUUID() },
        body: order,
      })
      return { id: answer.json.id }
    },
  },
  'orders.list': {},
  'health.read': {},
}

export function exampleOf(route: Route): Example {
  const example = examples[route.operation]
  if (!example) throw new Error(`${route.operation} has no example in test/support/examples.ts`)
  return example
}

/** The route's path with the variables of an example in it. */
export async function pathOf(route: Route, service: Service, tenant: string): Promise<string> {
  const params = (await exampleOf(route).given?.(service, tenant)) ?? {}
  return route.path.replace(/\{([a-z_]+)\}/g, (_, name: string) =>
    encodeURIComponent(params[name] ?? 'absent'),
  )
}
