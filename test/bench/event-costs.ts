import type { Settings } from '#shared/settings/register.ts'
import { localSettings } from '#test/support/settings.ts'
import { type Cost, metered } from './meter.ts'

type Payload = Settings['events.payloads']['order.created']

/** What the rows call each kind of data. */
const named: Record<Payload, string> = {
  id_and_tenant: 'its event with id and tenant',
  resource: 'its event with its fields',
}

/** Measures what the data of an event adds to the item that carries it, with text of usual lengths. */
export async function eventCosts(endpoint: string): Promise<Cost[]> {
  const costs: Cost[] = []
  for (const payload of ['id_and_tenant', 'resource'] as const) {
    const payloads = {
      ...localSettings['events.payloads'],
      'order.created': payload,
      'refund.succeeded': payload,
    }
    costs.push(...(await metered(endpoint, measureBoth(payload), { 'events.payloads': payloads })))
  }
  return costs
}

function measureBoth(payload: Payload): Parameters<typeof metered>[1] {
  const name = named[payload]
  return async ({ measure }) => {
    const post = (path: string, body: unknown) => ({
      method: 'POST',
      path,
      as: { tenant: 'acme', role: 'Editor' },
      // The payment provider knows the keys of the services before.
      headers: { 'Idempotency-Key': `${payload}${path}` },
      body,
    })
    const order = { cart_id: 'cart-0123456789abcdef', amount_minor: 1999, currency: 'EUR' }
    await measure(`create an order, ${name}`, post('/v1/orders', order))
    const charge_id = 'ch_3MmlLrLkdIwHu7ix0snN0B15'
    await measure(`refund a charge, ${name}`, post('/v1/refunds', { charge_id, amount: 100 }))
  }
}
