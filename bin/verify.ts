import { route as createOrder } from '#functions/orders/create-order/route.ts'
import { route as listOrders } from '#functions/orders/list-orders/route.ts'
import { newId, systemClock } from '#shared/platform/base/clock.ts'
import { apiKeyScopes } from '#shared/platform/identity/authorize.ts'
import { pathOf, type Route } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { make, revoke } from './api-keys.ts'
import { baseUrlOf, type DeployedStack, openTable } from './deployment.ts'
import { purgeTenant } from './purge-tenant.ts'

/** The deployment to check, and a credential that may create and list orders in a tenant without orders. */
export interface Target {
  baseUrl: string
  apiKey: string
  settings: Settings
}

interface Received {
  status: number
  headers: Headers
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: bodies have any shape
  json: any
}

/**
 * Runs the checks in order.
 * @param report receives the name of each check that passed
 * @throws Error that names the first failed check, with the expected and the received value
 */
export async function verify(target: Target, report: (check: string) => void): Promise<void> {
  const { settings } = target
  const order = { cart_id: 'verify', amount_minor: 100, currency: settings['orders.currencies'][0] ?? 'EUR' }
  const credential = { [settings['auth.apiKeyHeader']]: target.apiKey }
  const headers = {
    ...credential,
    'Idempotency-Key': `verify-${newId(systemClock)}`,
    'Content-Type': 'application/json',
  }
  const create = (body: object) => send(target, createOrder, { headers, body: JSON.stringify(body) })
  const check = (name: string, { status, text }: Received, passed: boolean, expected: string) => {
    if (!passed) throw new Error(`${name}: expected ${expected}, received ${status} ${text.slice(0, 500)}`)
    report(name)
  }
  const hasError = ({ status, json }: Received, expected: string) =>
    `${status} ${json?.error?.code}` === expected

  const health = await ask(target, '/health')
  check('health', health, health.status === 200, '200')

  const forged = await send(target, listOrders, { headers: { Authorization: 'Bearer forged' } })
  const invalid = '401 AUTH.invalid_credentials'
  check('rejected token', forged, hasError(forged, invalid), invalid)

  const created = await create(order)
  const status = settings['orders.createStatus']
  check('create', created, created.status === status, `${status}`)

  const replay = await create(order)
  const replayed = replay.headers.get('Idempotency-Status') === 'replayed' && replay.text === created.text
  check('replay', replay, replayed, 'the same body with Idempotency-Status: replayed')

  const changed = await create({ ...order, amount_minor: 200 })
  const mismatch = '409 CONFLICT.idempotency.payload_mismatch'
  check('mismatch', changed, hasError(changed, mismatch), mismatch)

  const list = await send(target, listOrders, { headers: credential })
  const ids = list.json?.data?.map(({ id }: { id: string }) => id)
  check('list', list, ids?.length === 1 && ids[0] === created.json.id, 'only the created order')
}

function send(target: Target, route: Route, init: RequestInit): Promise<Received> {
  return ask(target, pathOf(route, target.settings), { ...init, method: route.method })
}

async function ask({ baseUrl }: Target, path: string, init: RequestInit = {}): Promise<Received> {
  const response = await fetch(`${baseUrl.replace(/\/$/, '')}${path}`, init)
  const text = await response.text()
  const json = await new Response(text).json().catch(() => undefined)
  return { status: response.status, headers: response.headers, text, json }
}

/** Checks a deployment with an API key in a tenant that is made for it, and deletes both. */
export async function verifyStack(
  stack: DeployedStack,
  { settings, url }: { settings: Settings; url?: string | undefined },
  report: (check: string) => void,
): Promise<void> {
  const table = openTable(stack)
  const tenant = `verify-${newId(systemClock)}`
  const scopes = [createOrder, listOrders].flatMap((route) => apiKeyScopes(route, settings) ?? [])
  const { key: apiKey, key_id } = await make(table, systemClock, { tenant, name: 'verify', scopes })
  try {
    await verify({ baseUrl: baseUrlOf(stack, url), apiKey, settings }, report)
  } finally {
    await revoke(table, systemClock, tenant, key_id)
    await purgeTenant(table, systemClock, tenant, { withAudit: true })
  }
}
