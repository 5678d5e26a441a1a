import { codeCosts } from './code-costs.ts'
import { eventCosts } from './event-costs.ts'
import { type Cost, metered } from './meter.ts'
import { moneyCosts } from './money-costs.ts'
import { orderCosts } from './order-costs.ts'

/** Measures the cost of each kind of request. Deterministic except for the time in ids. */
export async function measureCosts(endpoint: string, pageSize: number, pages: number): Promise<Cost[]> {
  const requests = await metered(endpoint, async (meter) => {
    await orderCosts(meter, pageSize, pages)
    await codeCosts(meter)
    await moneyCosts(meter)
    await meter.measure('ask for health', { path: '/health' })
  })
  return [...requests, ...(await eventCosts(endpoint))]
}
