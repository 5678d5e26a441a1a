import { setTimeout as sleep } from 'node:timers/promises'
import { route as createImport } from '#functions/imports/create-import/route.ts'
import { route as readOperation } from '#functions/operations/read-operation/route.ts'
import { route as createOrder } from '#functions/orders/create-order/route.ts'
import { route as listOrders } from '#functions/orders/list-orders/route.ts'
import { route as readOrder } from '#functions/orders/read-order/route.ts'
import { importTypes } from '#shared/imports/import-request.ts'
import { newId, systemClock } from '#shared/platform/base/clock.ts'
import { apiKeyScopes } from '#shared/platform/identity/authorize.ts'
import { pathOf, type Route } from '#shared/platform/request/route.ts'
import type { Settings } from '#shared/settings/register.ts'
import { make, revoke } from './api-keys.ts'
import { baseUrlOf, type DeployedStack } from './deployment.ts'
import { operatorOf } from './operator.ts'
import { reach } from './reach.ts'
import { deleteTenant } from './tenants/purge-tenant.ts'
import { type Receiver, sendEvent } from './webhook.ts'
import { newSigningKey, signingSecret } from './webhook-secret.ts'

/** The deployment to check, and a key with `verifyScopes` in a tenant without orders. */
interface Target extends Receiver {
  tenant: string
  apiKey: string
  /** How long to wait for the effect of a webhook and for the end of an import. */
  waitSeconds: number
}

interface Received {
  status: number
  headers: Headers
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: bodies have any shape
  json: any
}

/** Returns the scopes of the key that `verify` uses. */
export function verifyScopes(settings: Settings): string[] {
  const routes = [createOrder, readOrder, listOrders, createImport, readOperation]
  return [...new Set(routes.flatMap((route) => apiKeyScopes(route, settings) ?? []))]
}

/** The requests of `verify` with its API key, and the checks of their responses. */
type Checks = ReturnType<typeof checksOf>

function checksOf(target: Target, report: (check: string) => void) {
  const credential = { [target.settings['auth.apiKeyHeader']]: target.apiKey }
  const check = (name: string, { status, text }: Received, passed: boolean, expected: string) => {
    if (!passed) throw new Error(`${name}: expected ${expected}, received ${status} ${text.slice(0, 500)}`)
    report(name)
  }
  return {
    check,
    checkError: (name: string, received: Received, expected: string) =>
      check(name, received, `${received.status} ${received.json?.error?.code}` === expected, expected),
    send: (route: Route, init: RequestInit & { id?: string } = {}) =>
      ask(target, route, { ...init, headers: { ...credential, ...init.headers } }),
  }
}

/**
 * Runs the checks in order.
 * @param report receives the name of each check that passed
 * @throws Error that names the first failed check, with the expected and the received value
 */
export async function verify(target: Target, report: (check: string) => void): Promise<void> {
  const checks = checksOf(target, report)
  const health = await received(reach(`${target.baseUrl}/health`))
  checks.check('health', health, health.status === 200, '200')
  const forged = await checks.send(listOrders, { headers: { Authorization: 'Bearer forged' } })
  checks.checkError('rejected token', forged, '401 AUTH.invalid_credentials')
  const orderId = await verifyOrder(target, checks)
  await verifyWebhook(orderId, target, checks)
  if (importTypes(target.settings).includes('text/csv')) await verifyImport(target, checks)
}

/** Creates an order, repeats it, changes its payload and lists it. @returns the id of the order */
async function verifyOrder({ settings }: Target, { check, checkError, send }: Checks): Promise<string> {
  const order = { cart_id: 'verify', amount_minor: 100, currency: settings['orders.currencies'][0] ?? 'EUR' }
  const key = `verify-${newId(systemClock)}`
  const create = (body: object) => {
    const headers = { 'Idempotency-Key': key, 'Content-Type': 'application/json' }
    return send(createOrder, { headers, body: JSON.stringify(body) })
  }
  const created = await create(order)
  const status = settings['orders.createStatus']
  check('create', created, created.status === status, `${status}`)
  const replay = await create(order)
  const replayed = replay.headers.get('Idempotency-Status') === 'replayed' && replay.text === created.text
  check('replay', replay, replayed, 'the same body with Idempotency-Status: replayed')
  const changed = await create({ ...order, amount_minor: 200 })
  checkError('mismatch', changed, '409 CONFLICT.idempotency.payload_mismatch')
  const { id } = created.json
  const list = await send(listOrders)
  const ids = list.json?.data?.map((one: { id: string }) => one.id)
  check('list', list, ids?.length === 1 && ids[0] === id, 'only the created order')
  return id
}

/** Sends the event that pays an order, first with a wrong signature, and waits for its effect. */
async function verifyWebhook(id: string, target: Target, { check, checkError, send }: Checks): Promise<void> {
  const paid = {
    event_id: newId(systemClock),
    type: 'order.paid',
    occurred_at: new Date().toISOString(),
    data: { id, tenant_id: target.tenant },
  }
  const unsigned = await received(sendEvent(paid, { ...target, secret: newSigningKey() }))
  checkError('rejected signature', unsigned, '401 AUTH.invalid_credentials')
  const accepted = await received(sendEvent(paid, target))
  if (accepted.status >= 300) check('webhook', accepted, false, 'an accepted event')
  const effect = await until(
    target.waitSeconds,
    () => send(readOrder, { id }),
    ({ json }) => json?.status === 'paid',
  )
  check(
    'webhook',
    effect,
    effect.json?.status === 'paid',
    `the order to be paid within ${target.waitSeconds} s`,
  )
}

/** Imports a file with a valid and an invalid row, and waits for the result. */
async function verifyImport({ waitSeconds }: Target, { check, send }: Checks): Promise<void> {
  const body = 'email,name,country\nverify@example.com,Verify,GB\nnot an address,Verify,GB\n'
  const started = await send(createImport, { headers: { 'Content-Type': 'text/csv' }, body })
  if (started.status !== 202) check('import', started, false, '202')
  const read = () => send(readOperation, { id: started.json.operation_id })
  const ended = await until(waitSeconds, read, ({ json }) => !['pending', 'running'].includes(json?.state))
  const { succeeded, failed } = ended.json?.result?.counts ?? {}
  check('import', ended, succeeded === 1 && failed === 1, `one row of two imported within ${waitSeconds} s`)
}

/** Checks a deployment with an API key in a tenant that is made for it, and removes both. */
export async function verifyStack(
  stack: DeployedStack,
  { settings, url }: { settings: Settings; url?: string | undefined },
  report: (check: string) => void,
): Promise<void> {
  const operator = await operatorOf(stack)
  const tenant = `verify-${newId(systemClock)}`
  const options = { tenant, name: 'verify', scopes: verifyScopes(settings) }
  const { key: apiKey, key_id } = await make(operator, options)
  const target = { baseUrl: baseUrlOf(stack, url), secret: await signingSecret(stack), settings }
  try {
    await verify({ ...target, tenant, apiKey, waitSeconds: 120 }, report)
  } finally {
    await revoke(operator, tenant, key_id)
    await deleteTenant(operator, tenant, { withAudit: true })
  }
  const { status } = await ask(target, listOrders, { headers: { [settings['auth.apiKeyHeader']]: apiKey } })
  if (status !== 401) throw new Error(`removal: expected 401 for the removed key, received ${status}`)
  report('removal')
}

/** Sends a request of a route. @param id replaces the parameter of its path */
function ask(
  { baseUrl, settings }: Receiver,
  route: Route,
  init: RequestInit & { id?: string },
): Promise<Received> {
  const path = pathOf(route, settings).replace(/\{\w+\}/, init.id ?? '')
  return received(reach(`${baseUrl}${path}`, { ...init, method: route.method }))
}

async function received(sent: Promise<Response>): Promise<Received> {
  const response = await sent
  const { status, headers } = response
  const text = await response.text()
  const json = await new Response(text).json().catch(() => undefined)
  return { status, headers, text, json }
}

/** Reads until a response passes or the time is over. @returns the last response */
async function until(
  seconds: number,
  read: () => Promise<Received>,
  passes: (response: Received) => boolean,
): Promise<Received> {
  const deadline = Date.now() + seconds * 1000
  for (;;) {
    const response = await read()
    if (passes(response) || Date.now() >= deadline) return response
    await sleep(500)
  }
}
