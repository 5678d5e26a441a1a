import { parseArgs } from 'node:util'
import { route as createOrder } from '#functions/orders/create-order/route.ts'
import { route as listOrders } from '#functions/orders/list-orders/route.ts'
import { newId, systemClock } from '#shared/platform/base/clock.ts'
import { apiKeyScopes } from '#shared/platform/identity/authorize.ts'
import { pathOf, type Route } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { make, revoke } from './api-keys.ts'
import { run } from './command.ts'
import { deployedStack, openTable, outputOf, stackUsage } from './deployment.ts'
import { purgeTenant } from './purge-tenant.ts'
import { loadSettings, localProfile } from './settings-file.ts'

const usage = `usage: npm run -s verify -- [--settings FILE] [--url URL] [--stack NAME]
Checks a deployment over HTTP: health, a refused token, an order, its replay, a changed payload and a list. It works in a
tenant and with an API key of its own, and deletes both. Prints a line for each check.
--settings names the profile of the deployment.
${stackUsage}`

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
  const body = { cart_id: 'verify', amount_minor: 100, currency: settings['orders.currencies'][0] ?? 'EUR' }
  const key = { [settings['auth.apiKeyHeader']]: target.apiKey }
  const once = { ...key, 'Idempotency-Key': `verify-${newId(systemClock)}` }
  const place = (payload: object) => send(target, createOrder, { headers: once, body: payload })

  const health = await ask(target, '/health')
  expect('health', health, health.status === 200, '200')
  report('health')

  const forged = await send(target, listOrders, { headers: { Authorization: 'Bearer forged' } })
  const refused = forged.status === 401 && forged.json?.error?.code === 'AUTH.invalid_credentials'
  expect('refused token', forged, refused, '401 AUTH.invalid_credentials')
  report('refused token')

  const created = await place(body)
  expect(
    'create',
    created,
    created.status === settings['orders.createStatus'],
    `${settings['orders.createStatus']}`,
  )
  report('create')

  const replay = await place(body)
  const replayed = replay.headers.get('Idempotency-Status') === 'replayed' && replay.text === created.text
  expect('replay', replay, replayed, 'the same body with Idempotency-Status: replayed')
  report('replay')

  const changed = await place({ ...body, amount_minor: 200 })
  const mismatch = changed.json?.error?.code === 'CONFLICT.idempotency.payload_mismatch'
  expect('mismatch', changed, mismatch, '409 CONFLICT.idempotency.payload_mismatch')
  report('mismatch')

  const list = await send(target, listOrders, { headers: key })
  const ids = list.json?.data?.map(({ id }: { id: string }) => id)
  expect('list', list, ids?.length === 1 && ids[0] === created.json.id, 'the one order')
  report('list')
}

function expect(check: string, { status, text }: Received, passed: boolean, expected: string): void {
  if (!passed) throw new Error(`${check}: expected ${expected}, received ${status} ${text.slice(0, 500)}`)
}

function send(
  target: Target,
  route: Route,
  { headers, body }: { headers: Record<string, string>; body?: object },
): Promise<Received> {
  const json = body && {
    body: JSON.stringify(body),
    headers: { ...headers, 'Content-Type': 'application/json' },
  }
  return ask(target, pathOf(route, target.settings), { method: route.method, headers, ...json })
}

async function ask({ baseUrl }: Target, path: string, init: RequestInit = {}): Promise<Received> {
  const response = await fetch(`${baseUrl.replace(/\/$/, '')}${path}`, init)
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: parsed(text) }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function main(): Promise<void> {
  const text = { type: 'string' } as const
  const { values } = parseArgs({ options: { stack: text, settings: text, url: text } })
  const stack = await deployedStack(values.stack)
  const settings = await loadSettings(values.settings ?? localProfile, 'local')
  const table = openTable(stack)
  const tenant = `verify-${newId(systemClock)}`
  const scopes = [createOrder, listOrders].flatMap((route) => apiKeyScopes(route, settings) ?? [])
  const { key: apiKey, line } = await make(table, systemClock, { tenant, name: 'verify', scopes })
  const baseUrl = values.url ?? outputOf(stack, 'BaseUrl')
  try {
    await verify({ baseUrl, apiKey, settings }, (check) => console.log(`ok  ${check}`))
  } finally {
    await revoke(table, systemClock, tenant, line.key_id)
    await purgeTenant(table, systemClock, tenant, { withAudit: true })
  }
}

if (import.meta.main) await run(usage, main)
