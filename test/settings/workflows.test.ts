import { createHmac } from 'node:crypto'
import { afterAll } from '@jest/globals'
import { timeOf } from '#shared/platform/base/clock.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import type { Settings } from '#shared/settings/register.ts'
import { inboxKey } from '#shared/webhooks/inbox.ts'
import { startImports } from '#test/imports/import-service.ts'
import { movableClock } from '#test/support/clocks.ts'
import { eventsOf } from '#test/support/item-events.ts'
import { outcome } from '#test/support/outcome.ts'
import { startPaymentProvider } from '#test/support/payment-provider/payment-provider.ts'
import { handleReceived, sendEvent } from '#test/support/received-events.ts'
import { eventOf, webhookSecret } from '#test/support/signed-events.ts'
import { serving } from '../formats/file-network.ts'
import { each, newTenantOf, type Row, settingsWith, type Tenant, testChanges } from './changes.ts'

type Imports = Awaited<ReturnType<typeof startImports>>

const file = 'email\na@example.com\nb@\nc@\nd@\n'
const tenant = 'acme'
const as = { tenant, role: 'Editor' }

/** Uploads a file that is new. */
const begin = async ({ upload }: Imports): Promise<string> =>
  (await upload(tenant, `${file}${crypto.randomUUID()}@\n`)).json.operation_id

/** Runs an import of this many rows, and returns how it ended. */
async function endOf(service: Imports, rows: number) {
  const lines = Array.from({ length: rows }, (_, n) => `${n}@example.com\n`)
  const id = (await service.upload(tenant, `email\n${lines.join('')}`)).json.operation_id
  await service.run(tenant, id)
  const { state, error } = (await service.read(tenant, id)).json
  return [state, error?.code, error?.details, (await service.customers(tenant)).length]
}

/** Fetches a file from a host that begins to send it after 1.5 s. */
async function fetchSlowly({ call, run, read }: Imports): Promise<string> {
  const body = { file_url: 'https://files.example/customers.csv' }
  const { json } = await call({ method: 'POST', path: '/imports', as, body })
  const slow = { file: Buffer.from(file), afterMilliseconds: 1500 }
  await run(tenant, json.operation_id, { network: serving([slow]) })
  return (await read(tenant, json.operation_id)).json.state
}

const large = async ({ upload }: Imports) => outcome(await upload(tenant, `email\n${'x'.repeat(300)}\n`))

// biome-ignore format: a table of rows
const imports: Row<Imports>[] = [
  ['imports.request', ['file_url'], async ({ upload }) => {
    const answer = await upload(tenant, file)
    return [outcome(answer), answer.headers['Accept-Post']]
  }, ['415 VALIDATION.content_type.unsupported', 'application/json']],
  ['imports.maxBytes', { inline: 200 }, large, '413 VALIDATION.body.too_large'],
  ['imports.maxBytes', { fileUrl: 20 }, fetchSlowly, 'failed'],
  ['imports.maxRows', 5, (service) => each([5, 6], (rows) => endOf(service, rows)),
    [['succeeded', undefined, undefined, 5], ['failed', 'VALIDATION.csv.too_many_rows', { max: 5 }, 5]]],
  ['imports.writeUnitsPerSecond', 1, // One unit for the valid row, one for the rejected ones, one for their reservation.
    async (service) => {
    const start = 1_800_000_000_000
    const clock = movableClock(start)
    const id = await begin(service)
    const other = (await service.upload('other', 'email\nb@example.com\n')).json.operation_id
    Object.assign(service.steps, { clock })
    await service.run(tenant, id)
    await service.run('other', other)
    return Math.floor(clock.now() / 1000) - start / 1000
  }, 3],
  ['imports.result', { rejectsShown: 2, linkSeconds: 60 }, async (service) => {
    const id = await begin(service)
    await service.run(tenant, id)
    const { counts, rejects, rejects_url: url } = (await service.read(tenant, id)).json.result
    return [counts.failed, rejects.length, new URL(url).searchParams.get('seconds')]
  }, [4, 2, '60']],
  ['imports.inProgressPerTenant', 2,
    async (service) => (await each([1, 2, 3], (n) => service.upload(tenant, `email\n${n}@example.com\n`))).map(outcome),
    ['202', '202', '429 RATE_LIMIT.exceeded']],
  ['operations.cancel', { verb: 'stop', status: 202 }, (service) =>
      each(['cancel', 'stop'], async (verb) => {
      const path = `/operations/${await begin(service)}:${verb}`
      return outcome(await service.call({ method: 'POST', path, as, body: {} }))
    }), ['404 NOT_FOUND.route', '202']],
  ['operations.retryAfter', 5, async (service) => {
    const id = await begin(service)
    const pending = await service.read(tenant, id)
    await service.run(tenant, id)
    return [pending, await service.read(tenant, id)].map(({ headers }) => headers['Retry-After'])
  }, ['5', undefined]],
  ['operations.retentionDays', 7, async (service) => {
    const id = await begin(service)
    const { expires_at } = await service.operation(tenant, id)
    return (Number(expires_at) - Math.floor(timeOf(id) / 1000)) / (24 * 3600)
  }, 7],
]

testChanges(imports, (changes) => startImports({ settings: settingsWith(changes) }))

const provider = await startPaymentProvider()
afterAll(() => provider.stop())

/** Signs an event with a scheme. */
function signed(
  scheme: Settings['webhooks.scheme'],
  body: string,
  secondsAgo: number,
): Record<string, string> {
  const id = JSON.parse(body).event_id
  const seconds = Math.floor(Date.now() / 1000) - secondsAgo
  const key = Buffer.from(webhookSecret.slice('whsec_'.length), 'base64')
  const mac = createHmac(scheme.digest, key).update(`${id}.${seconds}.${body}`).digest('base64')
  return {
    [scheme.idHeader]: id,
    [scheme.timestampHeader]: String(seconds),
    [scheme.signatureHeader]: `${scheme.prefix}${mac}`,
    'Content-Type': 'application/json',
  }
}

const event = (more = {}, data = {}) => eventOf('a.b', { id: 'x', ...data }, more)
const { 'webhooks.scheme': localScheme } = settingsWith({})
const scheme = {
  idHeader: 'X-Event-Id',
  timestampHeader: 'X-Event-Time',
  signatureHeader: 'X-Event-Signature',
  digest: 'sha512',
  prefix: 'sha512=',
} as const

/** Returns the types and the fields of the events on an item. */
const fieldsOf = (item: Item | undefined) =>
  item && eventsOf(item).map(({ type, data }) => [type, Object.keys(data).sort().join()])
const [small, placed] = ['id,tenant_id', 'amount_minor,currency,id,order_id,tenant_id']
const wholeOrder = 'amount_minor,cart_id,created_at,currency,id,status,tenant_id,updated_at'

/** Returns the events of a paid order. */
async function orderEvents({ service, tenant, place }: Tenant) {
  const { id } = (await place()).json
  const paid = eventOf('order.paid', { id, tenant_id: tenant })
  await sendEvent(service, paid)
  await handleReceived(service, paid.event_id)
  return fieldsOf((await service.items(tenant, 'order'))[0])
}

// biome-ignore format: a table of rows
const rows: Row[] = [
  ['webhooks.scheme', scheme, ({ service }) =>
      each([localScheme, scheme], async (one) => {
      const body = event()
      return (await sendEvent(service, body, signed(one, JSON.stringify(body), 0))).status
    }), [401, 202]],
  ['webhooks.windowSeconds', 60, async ({ service }) => {
    const body = event()
    return (await sendEvent(service, body, signed(localScheme, JSON.stringify(body), 90))).status
  }, 401],
  ['webhooks.windowSeconds', 60, async ({ service }) => {
    const occurred_at = new Date(Date.now() + 90_000).toISOString()
    return outcome(await sendEvent(service, event({ occurred_at })))
  }, '400 VALIDATION.date.range'],
  ['webhooks.status', 200, async ({ service }) => (await sendEvent(service, event())).status, 200],
  ['webhooks.maxBytes', 2048,
    async ({ service }) => (await sendEvent(service, event({}, { note: 'x'.repeat(3000) }))).status, 413],
  ['webhooks.inboxDays', 14, async ({ service }) => {
    const sent = event()
    await sendEvent(service, sent)
    const item = await service.table.get(inboxKey(sent.event_id))
    return Math.round((Number(item?.expires_at) - Date.now() / 1000) / 86_400)
  }, 14],
  ['events.payloads', { 'order.created': 'resource', 'order.paid': 'resource' }, orderEvents,
    [['order.created', wholeOrder], ['order.placed', placed], ['order.paid', wholeOrder]]],
  ['events.payloads', { 'refund.succeeded': 'id_and_tenant' }, async ({ service, tenant, call }) => {
    await call('POST', '/v1/refunds', { body: { charge_id: 'ch_subscribed', amount: 10 } })
    return fieldsOf((await service.items(tenant, 'refund'))[0])
  }, [['refund.succeeded', small]]],
]

testChanges(rows, (changes) =>
  newTenantOf({ 'refunds.provider': { endpoint: provider.endpoint, attemptMilliseconds: 2000 }, ...changes }),
)
