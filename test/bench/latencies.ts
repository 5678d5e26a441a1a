import { routes } from '#functions/routes.ts'
import { type Deployment, deploy } from '#test/end-to-end/deployment.ts'

export interface RouteLatency {
  route: string
  requests: number
  p50: number
  p95: number
  p99: number
  budget: { p95: number; p99: number }
}

const warmUp = 30
const samples = 500
export const ordersListed = 100
/** Concurrent requests: a few clients, not a load test. */
const clients = 4

/** Measures the latency of each route with a budget, over HTTP on a deployed local stack. */
export async function httpLatencies(): Promise<RouteLatency[]> {
  const service = await deploy()
  try {
    const token = await service.token()
    const first = await place(service, token)
    const { id } = JSON.parse(await first.text())
    // The engine reads a tenant's entire partition for each Query, so the listed tenant is small.
    const listed = await service.token({ tenant: 'listed' })
    for (let n = 0; n < ordersListed; n += 1) await place(service, listed)
    const calls: Record<string, () => Promise<Response>> = {
      'orders.create': () => place(service, token),
      'orders.read': () => get(service, token, `/v1/orders/${id}`),
      'orders.list': () => get(service, listed, '/v1/orders?page_size=25'),
    }
    const measured: RouteLatency[] = []
    for (const { route } of routes) {
      const call = calls[route.operation]
      if (!route.latency || !call) continue
      await sample(call, warmUp)
      const sorted = (await sample(call, samples)).toSorted((a, b) => a - b)
      const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN
      const name = `${route.method} ${route.path}`
      measured.push({
        route: name,
        requests: samples,
        p50: at(0.5),
        p95: at(0.95),
        p99: at(0.99),
        budget: route.latency,
      })
    }
    return measured
  } finally {
    await service.stop()
  }
}

async function sample(call: () => Promise<Response>, count: number): Promise<number[]> {
  const times: number[] = []
  let left = count
  const client = async () => {
    while (left > 0) {
      left -= 1
      const started = performance.now()
      const answer = await call()
      await answer.arrayBuffer()
      if (!answer.ok) throw new Error(`a request was answered ${answer.status}`)
      times.push(performance.now() - started)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  return times
}

function place({ base_url }: Deployment, token: string): Promise<Response> {
  return fetch(`${base_url}/v1/orders`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': crypto.randomUUID(),
    },
    body: JSON.stringify({ cart_id: 'cart-1', amount_minor: 1999, currency: 'EUR' }),
  })
}

function get({ base_url }: Deployment, token: string, path: string): Promise<Response> {
  return fetch(`${base_url}${path}`, { headers: { Authorization: `Bearer ${token}` } })
}
