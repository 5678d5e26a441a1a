import {
  DescribeContinuousBackupsCommand,
  DescribeTableCommand,
  type DynamoDBClient,
} from '@aws-sdk/client-dynamodb'
import { route as exportCodes } from '#functions/codes/export-codes/route.ts'
import { route as createOrder } from '#functions/orders/create-order/route.ts'
import { route as listOrders } from '#functions/orders/list-orders/route.ts'
import { route as readOrder } from '#functions/orders/read-order/route.ts'
import { route as requestOtp } from '#functions/otp/request-otp/route.ts'
import { findMail } from '#shared/otp/code-mail.ts'
import { newId, systemClock, timestamp } from '#shared/platform/base/clock.ts'
import { pathOf } from '#shared/platform/request/route.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import type { Settings } from '#shared/settings/register.ts'
import { reach } from '../stack/reach.ts'
import {
  type Checks,
  type Received,
  received,
  sendLines,
  sendRequest,
  until,
  type VerifyTarget,
} from './requests.ts'

/** More than the gateway accepts. */
const oversizedBytes = 10 * 1024 * 1024 + 1

/**
 * Checks what the gateway answers itself, or would if the routes were wrong. A bearer token is no signature of AWS: a
 * gateway without a route for unknown paths rejects it with 403. Its own errors carry the envelope, and the headers with
 * which a page can read them if the profile names exactly one origin.
 */
export async function verifyEdge(target: VerifyTarget, { check, checkError, send }: Checks): Promise<void> {
  const { baseUrl, settings, onAws } = target
  const headers = { Authorization: 'Bearer forged' }
  checkError(
    'unknown route',
    await received(reach(`${baseUrl}/no/such/route`, { headers })),
    '404 NOT_FOUND.route',
  )
  const wrongMethod = await send(listOrders, { method: 'PUT', headers })
  checkError('wrong method', wrongMethod, '405 VALIDATION.method.not_allowed')
  if (!onAws) return
  const [only, ...others] = settings['cors.allowedOrigins']
  const origin = only === undefined ? {} : { Origin: only }
  const oversized = await send(createOrder, {
    headers: { ...origin, 'Content-Type': 'application/json' },
    body: ' '.repeat(oversizedBytes),
  })
  const allowed = oversized.headers.get('Access-Control-Allow-Origin')
  const expected = (others.length === 0 && only) || null
  const passed = oversized.json?.error?.code === settings['limits.tooLarge'] && allowed === expected
  check(
    'error of the gateway',
    oversized,
    passed,
    `413 ${settings['limits.tooLarge']} for ${expected === null ? 'no origin' : `the origin ${expected}`}`,
  )
}

/** Returns the order that `verify` creates. */
export function verifyingOrder(settings: Settings): object {
  return { cart_id: 'verify', amount_minor: 100, currency: settings['orders.currencies'][0] ?? 'EUR' }
}

/** Checks what a gateway may change on the way: the headers of a HEAD and of a 304, and a header in two lines. */
export async function verifyHeaders(id: string, target: VerifyTarget, checks: Checks): Promise<void> {
  const { check, checkError, mayCheck, send } = checks
  const { baseUrl, settings, apiKey } = target
  const { method } = createOrder
  const lines = {
    [settings['auth.apiKeyHeader']]: apiKey,
    'Content-Type': 'application/json',
    'Idempotency-Key': ['verify-1', 'verify-2'],
  }
  const url = `${baseUrl}${pathOf(createOrder, settings)}`
  const repeated = await sendLines(url, { method, headers: lines }, JSON.stringify(verifyingOrder(settings)))
  checkError('repeated header', repeated, '400 VALIDATION.idempotency_key.charset')
  if (!mayCheck('not modified', readOrder)) return
  const order = await send(readOrder, { id })
  const head = await send(readOrder, { id, method: 'HEAD' })
  const { length } = Buffer.from(order.text)
  const expected = `200 without a body, and the Content-Length ${length} or none`
  check('head', head, head.status === 200 && [null, `${length}`].includes(lengthOf(head)), expected)
  const tag = order.headers.get('ETag') ?? ''
  const same = await send(readOrder, { id, headers: { 'If-None-Match': tag } })
  const isBare = lengthOf(same) === null && !same.headers.has('Content-Type')
  check('not modified', same, same.status === 304 && isBare, '304 without Content-Length and Content-Type')
}

function lengthOf({ headers }: Received): string | null {
  return headers.get('Content-Length')
}

/**
 * Checks that the table of a stage with data of customers still has what guards them. Nothing else notices if somebody takes it
 * away by hand.
 */
export async function verifyProtection(TableName: string, dynamodb: DynamoDBClient): Promise<void> {
  const { Table } = await dynamodb.send(new DescribeTableCommand({ TableName }))
  const { ContinuousBackupsDescription: backups } = await dynamodb.send(
    new DescribeContinuousBackupsCommand({ TableName }),
  )
  const { PointInTimeRecoveryStatus } = backups?.PointInTimeRecoveryDescription ?? {}
  const missing = [
    !Table?.DeletionProtectionEnabled &&
      `deletion protection: aws dynamodb update-table --table-name ${TableName} --deletion-protection-enabled`,
    PointInTimeRecoveryStatus !== 'ENABLED' &&
      `point-in-time recovery: aws dynamodb update-continuous-backups --table-name ${TableName} --point-in-time-recovery-specification PointInTimeRecoveryEnabled=true`,
    Table?.SSEDescription?.InaccessibleEncryptionDateTime &&
      'a key that it can use: enable the key of the stage, or cancel its deletion',
  ].filter((one) => typeof one === 'string')
  if (missing.length > 0)
    throw new Error(`protection: the table ${TableName} has no ${missing.join('; no ')}`)
}

/** Requests a one-time code for the mailbox simulator of SES, and waits until its mail is sent and delivered. */
export async function verifyMail(target: VerifyTarget, { check }: Checks): Promise<void> {
  const { settings, waitSeconds, operator } = target
  const email = `success+${newId(systemClock)}@simulator.amazonses.com`
  const headers = { 'Content-Type': 'application/json' }
  const requested = await sendRequest(target, requestOtp, { headers, body: JSON.stringify({ email }) })
  if (requested.status !== 202) check('mail', requested, false, '202')
  const state = settings['otp.deliveredOn'] === 'accepted' ? 'sent' : 'delivered'
  const mail = await until(
    waitSeconds,
    () => findMail(operator.table, requested.json.message_id),
    (found) => found?.state === state,
  )
  check('mail', requested, mail?.state === state, `the mail to be ${state} within ${waitSeconds} s`)
}

/** Small enough for an item. */
const nameLength = 300_000

/**
 * Exports more than fits into a response, and follows the link: the export is a file, and its link can be read. On AWS it
 * follows the link like a browser, which sends the origin `null` after the redirect to another host. The exported codes
 * are deleted with the tenant.
 */
export async function verifyExport(target: VerifyTarget, { check, send }: Checks): Promise<void> {
  const { settings, tenant, operator, onAws } = target
  const { inlineMaxBytes } = settings['codes.export']
  for (let bytes = 0; bytes <= inlineMaxBytes; bytes += nameLength) {
    const id = newId(systemClock)
    const now = timestamp(systemClock.now())
    const item = {
      ...keyOf(tenant, 'code', id),
      ...{ id, tenant_id: tenant, code: 'VERIFY', type: '', name: 'x'.repeat(nameLength), version: 1 },
      ...{
        state: 'draft',
        soft_deleted: false,
        created_by: '',
        created_at: now,
        updated_at: now,
        expiry_at: now,
      },
    }
    await operator.table.put({ item, condition: 'none' })
  }
  const exported = await send(exportCodes, { redirect: 'manual' })
  const link = exported.headers.get('Location')
  if (exported.status !== 303 || link === null) return check('export', exported, false, '303 with a link')
  const file = await received(reach(link, onAws ? { headers: { Origin: 'null' } } : {}))
  const allowed = !onAws || ['null', '*'].includes(file.headers.get('Access-Control-Allow-Origin') ?? '')
  const passed = file.status === 200 && file.text.length > inlineMaxBytes && allowed
  check('export', { ...file, text: '' }, passed, `a file above ${inlineMaxBytes} bytes that a page can read`)
}
