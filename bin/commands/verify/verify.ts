import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { route as exportCodes } from '#functions/codes/export-codes/route.ts'
import { route as createImport } from '#functions/imports/create-import/route.ts'
import { route as readOperation } from '#functions/operations/read-operation/route.ts'
import { route as createOrder } from '#functions/orders/create-order/route.ts'
import { route as listOrders } from '#functions/orders/list-orders/route.ts'
import { route as readOrder } from '#functions/orders/read-order/route.ts'
import { importTypes } from '#shared/imports/create-import.ts'
import { newId, systemClock } from '#shared/platform/base/clock.ts'
import { apiKeyScopes } from '#shared/platform/identity/authorize.ts'
import type { Settings } from '#shared/settings/register.ts'
import { createApiKey, revokeApiKey } from '../api-keys/api-keys.ts'
import { baseUrlOf, type DeployedStack, outputOf } from '../stack/deployment.ts'
import { operatorOn } from '../stack/operator.ts'
import { reach } from '../stack/reach.ts'
import { deleteTenant } from '../tenants/purge-tenant.ts'
import { sendEvent } from '../webhooks/webhook.ts'
import { newSigningKey, signingSecret } from '../webhooks/webhook-secret.ts'
import {
  verifyEdge,
  verifyExport,
  verifyHeaders,
  verifyingOrder,
  verifyMail,
  verifyProtection,
} from './checks-of-aws.ts'
import {
  type Checks,
  checksOf,
  type ReportCheck,
  received,
  sendRequest,
  until,
  type VerifyTarget,
} from './requests.ts'

/** Returns the scopes of the key that `verify` uses. */
export function verifyScopes(settings: Settings): string[] {
  const routes = [createOrder, readOrder, listOrders, createImport, readOperation, exportCodes]
  return [...new Set(routes.flatMap((route) => apiKeyScopes(route, settings) ?? []))]
}

/**
 * Runs the checks in order. Those of operations that no API key may use are skipped, and so is the mail without a sender.
 * @throws Error that names the first failed check, with the expected and the received value
 */
export async function verify(target: VerifyTarget, report: ReportCheck): Promise<void> {
  const checks = checksOf(target, report)
  const health = await received(reach(`${target.baseUrl}/health`))
  checks.check('health', health, health.status === 200, '200')
  const forged = await checks.send(listOrders, { headers: { Authorization: 'Bearer forged' } })
  checks.checkError('rejected token', forged, '401 AUTH.invalid_credentials')
  await verifyEdge(target, checks)
  const orderId = checks.mayCheck('create', createOrder) ? await verifyOrder(target, checks) : undefined
  if (orderId !== undefined) await verifyHeaders(orderId, target, checks)
  await verifyWebhook(orderId, target, checks)
  if (importTypes(target.settings).includes('text/csv')) await verifyImport(target, checks)
  if (target.settings['mail.sender']) await verifyMail(target, checks)
  else report('mail', 'mail.sender names none')
  if (checks.mayCheck('export', exportCodes)) await verifyExport(target, checks)
}

/** Creates an order, repeats it, changes its payload and lists it. @returns the id of the order */
async function verifyOrder({ settings }: VerifyTarget, checks: Checks): Promise<string> {
  const { check, checkError, mayCheck, send } = checks
  const order = verifyingOrder(settings)
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
  if (!mayCheck('list', listOrders)) return id
  const list = await send(listOrders)
  const ids = list.json?.data?.map((one: { id: string }) => one.id)
  check('list', list, ids?.length === 1 && ids[0] === id, 'only the created order')
  return id
}

/** Sends the event that pays an order, first with a wrong signature, and waits for its effect. */
async function verifyWebhook(
  orderId: string | undefined,
  target: VerifyTarget,
  checks: Checks,
): Promise<void> {
  const { check, checkError, mayCheck, send } = checks
  const id = orderId ?? newId(systemClock)
  const paid = {
    event_id: newId(systemClock),
    type: 'order.paid',
    occurred_at: new Date().toISOString(),
    data: { id, tenant_id: target.tenant },
  }
  const unsigned = await received(sendEvent(paid, { ...target, secret: newSigningKey() }))
  checkError('rejected signature', unsigned, '401 AUTH.invalid_credentials')
  if (!mayCheck('webhook', createOrder, readOrder)) return
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
async function verifyImport({ waitSeconds }: VerifyTarget, { check, mayCheck, send }: Checks): Promise<void> {
  if (!mayCheck('import', createImport, readOperation)) return
  const body = 'email,name,country\nverify@example.com,Verify,GB\nnot an address,Verify,GB\n'
  const started = await send(createImport, { headers: { 'Content-Type': 'text/csv' }, body })
  if (started.status !== 202) check('import', started, false, '202')
  const read = () => send(readOperation, { id: started.json.operation_id })
  const ended = await until(waitSeconds, read, ({ json }) => !['pending', 'running'].includes(json?.state))
  const { succeeded, failed } = ended.json?.result?.counts ?? {}
  check('import', ended, succeeded === 1 && failed === 1, `one row of two imported within ${waitSeconds} s`)
}

/** How `verifyStack` runs. */
interface VerifyOptions {
  settings: Settings
  url?: string | undefined
  /** Ends it after the current check, which waits for the work that it started. */
  signal?: AbortSignal
  /** Receives what is removed, as soon as it is to end. */
  onStop?: (left: string) => void
}

/**
 * Checks a deployment with an API key in a tenant that is made for it, and removes both, also after a signal.
 * @throws Error that names the failed check, and what it could not remove
 */
export async function verifyStack(
  stack: DeployedStack,
  { settings, url, signal, onStop = () => {} }: VerifyOptions,
  report: ReportCheck,
): Promise<void> {
  // Only a stage with data of customers has backups.
  if (stack.outputs.BackupVaultName !== undefined) {
    await verifyProtection(outputOf(stack, 'TableName'), new DynamoDBClient(stack.access))
    report('protection')
  }
  const operator = await operatorOn(stack)
  const secret = await signingSecret(stack)
  const tenant = `verify-${newId(systemClock)}`
  const options = { tenant, name: 'verify', scopes: verifyScopes(settings) }
  const { key: apiKey, key_id } = await createApiKey(operator, options)
  const left = `the tenant ${tenant} and its API key ${key_id}`
  signal?.addEventListener('abort', () => onStop(left), { once: true })
  const target = { baseUrl: baseUrlOf(stack, url), secret, settings, operator }
  // The local run has no TLS.
  const onAws = target.baseUrl.startsWith('https:')
  const failures: string[] = []
  await verify({ ...target, tenant, apiKey, onAws, waitSeconds: 120 }, (...passed) => {
    report(...passed)
    signal?.throwIfAborted()
  }).catch(({ message }: Error) => failures.push(message))
  await remove().catch(({ message }: Error) => failures.push(`${left} could not be removed: ${message}`))
  if (failures.length > 0) throw new Error(failures.join('. '))
  const { status } = await sendRequest(target, listOrders, {
    headers: { [settings['auth.apiKeyHeader']]: apiKey },
  })
  if (status !== 401) throw new Error(`removal: expected 401 for the removed key, received ${status}`)
  report('removal')

  async function remove(): Promise<void> {
    await revokeApiKey(operator, tenant, key_id)
    await deleteTenant(operator, tenant, { withAudit: true })
  }
}
