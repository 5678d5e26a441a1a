import { afterAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createApiKey } from '#bin/commands/api-keys/api-keys.ts'
import { find, type Timeline } from '#bin/commands/ask/find.ts'
import { reachOf } from '#bin/commands/ask/reach.ts'
import type { LogLine } from '#bin/commands/ask/search-logs.ts'
import { deadLettersAt } from '#bin/commands/dead-letters/dead-letters.ts'
import { codeHash } from '#shared/codes/code-audit.ts'
import { newDelivery } from '#shared/deliveries/delivery.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import { logOf } from '#shared/platform/base/log.ts'
import { keyDerivation } from '#shared/platform/base/secrets.ts'
import { publishedEvents } from '#shared/platform/events/outbox.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import { admin, codeCalls, editor, made } from '#test/codes/code-calls.ts'
import { startFakeAws } from '#test/support/fake-aws.ts'
import { fakeQueue } from '#test/support/fake-queue.ts'
import { newEmail, requestCode } from '#test/support/one-time-codes.ts'
import { startPaymentProvider } from '#test/support/payment-provider/payment-provider.ts'
import { placeOrder } from '#test/support/place-order.ts'
import { receiveEvent } from '#test/support/received-events.ts'
import { type Service, startService } from '#test/support/service.ts'
import { profile } from '#test/support/settings.ts'
import { eventOf } from '#test/support/signed-events.ts'
import { reachTo } from './reach-to.ts'

const provider = await startPaymentProvider()
const dead = fakeQueue()
const secret = 's'.repeat(64)
const aws = await startFakeAws({
  ...dead.operations,
  'secretsmanager.GetSecretValue': () => ({ SecretString: `${secret}\n` }),
})
afterAll(() => Promise.all([provider.stop(), aws.stop()]))

let service: Service
beforeEach(async () => {
  dead.empty()
  const endpoint = { endpoint: provider.endpoint, attemptMilliseconds: 10_000 }
  service = await startService({
    settings: profile('shared/settings/profiles/local.json', { 'refunds.provider': endpoint }),
  })
})

/** Returns the lines that the service has logged of its requests. */
function loggedLines(): LogLine[] {
  const lines: LogLine[] = []
  const log = logOf(
    (message, _, record) => lines.push({ at: Date.now() - 1, fields: { message, ...record } }),
    {},
  )
  for (const line of service.lines) log.request(line)
  // A line is JSON, which leaves out what is undefined.
  return lines.map(({ at, fields }) => ({ at, fields: JSON.parse(JSON.stringify(fields)) }))
}
const reach = () =>
  reachTo(service.tableName, {
    lines: loggedLines(),
    letters: { webhooks: { letters: deadLettersAt(`${aws.endpoint}/dead`, aws.access), attempts: 5 } },
    stack: 'commerce-test',
  })
const found = (what: string, tenant?: string) => find(reach(), what, { tenant, to: Date.now() + 60_000 })
const kindsOf = ({ entries }: Timeline) => entries.map(({ kind }) => kind)
const summariesOf = ({ entries }: Timeline, kind: string) =>
  entries.filter((entry) => entry.kind === kind).map(({ summary }) => summary)

/** Creates a refund of a tenant. */
async function refund(tenant: string, charge_id: string, headers: Record<string, string> = {}) {
  const { json } = await service.call({
    method: 'POST',
    path: '/v1/refunds',
    as: { tenant, role: 'Editor' },
    headers: { 'Idempotency-Key': crypto.randomUUID(), ...headers },
    body: { charge_id, amount: 700 },
  })
  return json as { id: string }
}

describe('find', () => {
  test('by the id of an order, in any tenant, shows its request, its state and its events', async () => {
    const { json } = await placeOrder(service, 'acme', { headers: { 'X-Correlation-Id': 'order-1' } })
    const timeline = await found(json.id)
    expect(timeline.found).toEqual([{ kind: 'order', id: json.id, tenant: 'acme' }])
    expect(timeline.entries).toContainEqual(
      expect.objectContaining({
        kind: 'request',
        tenant: 'acme',
        correlation_id: 'order-1',
        summary: expect.stringMatching(/^orders\.create 201 in \d+ ms$/),
      }),
    )
    expect(summariesOf(timeline, 'change')).toEqual([`order ${json.id} active`])
    expect(summariesOf(timeline, 'event')).toEqual(['order.created', 'order.placed'])
  })

  test('by a correlation id shows what all of its requests did, and nothing of others', async () => {
    const headers = { 'X-Correlation-Id': 'together-1' }
    const { json } = await placeOrder(service, 'acme', { headers })
    const { id } = await refund('acme', 'ch_together', headers)
    await placeOrder(service, 'acme', { headers: { 'X-Correlation-Id': 'together-12' } })
    const timeline = await found('together-1')
    expect(new Set(timeline.entries.map((entry) => entry.correlation_id))).toEqual(
      new Set(['together-1', undefined]),
    )
    expect(timeline.found.map((one) => one.id).toSorted()).toEqual([json.id, id].toSorted())
    expect(summariesOf(timeline, 'ledger')).toEqual(['payout of 7.00 EUR of ch_together'])
    expect(summariesOf(timeline, 'audit')).toContain(`allow refund refund/${id} by u1`)
  })

  test.each(['id', 'charge_id', 'provider_refund_id'])(
    'by the %s of a refund shows its ledger',
    async (by) => {
      const { id } = await refund('acme', 'ch_money')
      await refund('acme', 'ch_other')
      const item = await service.table.get(keyOf('acme', 'refund', id))
      const timeline = await found(String(item?.[by]), 'acme')
      expect(timeline.found).toEqual([{ kind: 'refund', id, tenant: 'acme' }])
      expect(summariesOf(timeline, 'ledger')).toEqual(['payout of 7.00 EUR of ch_money'])
    },
  )

  test('by its text shows who deleted a code for good, and why', async () => {
    const calls = codeCalls(service)
    const { id } = await made(calls, 'acme', { code: 'SUMMER-10' })
    const other = await made(calls, 'acme', { code: 'SUMMER-20' })
    await calls.hardDelete(admin('acme'), id, 'sent to the wrong list')
    await calls.hardDelete(admin('acme'), other.id, 'another one')
    const timeline = await found('summer-10', 'acme')
    expect(timeline.found).toEqual([{ kind: 'deleted code', id, tenant: 'acme' }])
    expect(timeline.entries).toContainEqual(
      expect.objectContaining({
        kind: 'audit',
        summary: `allow hard_delete code/${id} by Admin-1: sent to the wrong list`,
        data: expect.objectContaining({ actor_id: 'Admin-1' }),
      }),
    )
    expect(JSON.stringify(timeline)).not.toContain(other.id)
    expect(JSON.stringify(timeline)).not.toContain('SUMMER')
  })

  test('hashes the text of a code with the key of functions, also if its secret was stored from a file', async () => {
    const stack = { outputs: { CodesSecretArn: 'arn:codes' }, access: aws.access }
    expect(await reachOf('commerce-test', stack).hashOfCode('acme', 'SUMMER')).toBe(
      codeHash(keyDerivation()(secret, 'codes'), 'acme', 'SUMMER'),
    )
  })

  test('by its text shows a code, its soft delete and its other changes', async () => {
    const calls = codeCalls(service)
    const { id } = await made(calls, 'acme', { code: 'WINTER-10' })
    await calls.update(editor('acme'), id, '*', { name: 'Other' })
    await calls.softDelete(editor('acme'), id)
    const timeline = await found('WINTER-10', 'acme')
    expect(timeline.found).toEqual([{ kind: 'code', id, tenant: 'acme' }])
    expect(summariesOf(timeline, 'audit')).toEqual([
      `allow update code/${id} by Editor-1`,
      `allow soft_delete code/${id} by Editor-1`,
    ])
  })

  test('by an API key shows its requests, and no others of its tenant', async () => {
    const operator = { table: service.table, clock: systemClock, name: 'jane' }
    const { key, key_id } = await createApiKey(operator, {
      tenant: 'acme',
      name: 'till',
      scopes: ['orders:write'],
    })
    const headers = { 'X-Api-Key': key, 'Idempotency-Key': 'k', 'X-Correlation-Id': 'by-key' }
    const body = { cart_id: 'c', amount_minor: 1, currency: 'EUR' }
    await service.call({ method: 'POST', path: '/v1/orders', headers, body })
    await placeOrder(service, 'acme')
    const timeline = await found(key_id)
    expect(summariesOf(timeline, 'request')).toEqual([expect.stringContaining('orders.create 201')])
    expect(summariesOf(timeline, 'audit')).toEqual([`allow api_key.create api_key/${key_id} by jane`])
    expect(JSON.stringify(timeline)).not.toContain(key)
    expect(timeline.entries.find(({ kind }) => kind === 'change')?.command).toBe(
      `npx commerce api-keys revoke ${key_id} --tenant acme --stack commerce-test`,
    )
  })

  test('by the correlation id of its request shows a mail, and nothing of its receiver', async () => {
    const headers = { 'X-Correlation-Id': 'mail-1' }
    const email = newEmail()
    const { json } = await requestCode(service, email, { headers })
    await requestCode(service, newEmail())
    const timeline = await found('mail-1')
    expect(summariesOf(timeline, 'mail')).toEqual([`mail ${json.message_id} queued`])
    expect(summariesOf(timeline, 'request')).toEqual([expect.stringContaining('otp.request 202')])
    expect(JSON.stringify(timeline)).not.toMatch(/email|sealed/)
    expect(kindsOf(await found(json.message_id))).toEqual(expect.arrayContaining(['request', 'mail']))
  })

  test('by the id of an event shows its deliveries, with the command that sends one again', async () => {
    const { json } = await placeOrder(service, 'acme')
    const item = await service.table.get(keyOf('acme', 'order', json.id))
    const [event] = item ? publishedEvents(item) : []
    if (!event) throw new Error('the order has no event')
    const ref = { tenant: 'acme', subscriber: 'the-subscriber' }
    const { settings } = service
    const delivery = newDelivery(ref, event, { state: 'suspended', now: Date.now(), settings })
    await service.table.put({ item: { ...delivery }, condition: 'none' })
    for (const what of [json.id, event.correlation_id]) {
      const timeline = await found(what)
      expect(timeline.entries.find(({ kind }) => kind === 'delivery')).toMatchObject({
        id: delivery.sk,
        summary: `${event.type} to the-subscriber suspended`,
        command: `npx commerce deliveries resend ${delivery.sk} --tenant acme --stack commerce-test`,
      })
    }
    expect(kindsOf(await found(delivery.sk, 'acme'))).toContain('delivery')
    expect(JSON.stringify(await found(json.id))).not.toContain('"body"')
  })

  test('by its id shows a received event, and the dead letter of it', async () => {
    const { json } = await placeOrder(service, 'acme')
    const event = eventOf('order.paid', { id: json.id, tenant_id: 'acme' })
    await receiveEvent(service, event)
    const message = dead.put(event.event_id, 'acme')
    const timeline = await found(event.event_id)
    expect(timeline.found).toContainEqual({ kind: 'received event', id: event.event_id, tenant: 'acme' })
    expect(timeline.entries.find(({ kind }) => kind === 'dead_letter')?.command).toBe(
      `npx commerce dead-letters redrive webhooks ${message} --stack commerce-test`,
    )
  })

  test('by its name shows a cart of a tenant, and its orders', async () => {
    const data = { id: 'cart-7', tenant_id: 'acme', amount_minor: 5000, currency: 'EUR' }
    await receiveEvent(service, eventOf('cart.updated', data))
    const body = { cart_id: 'cart-7', amount_minor: 5000, currency: 'EUR' }
    const { json } = await placeOrder(service, 'acme', { body })
    await placeOrder(service, 'acme', { body: { ...body, cart_id: 'cart-70' } })
    expect((await found('cart-7', 'acme')).found).toEqual([
      { kind: 'cart', id: 'cart-7', tenant: 'acme' },
      { kind: 'order', id: json.id, tenant: 'acme' },
    ])
  })

  test('shows nothing of another tenant than the named one', async () => {
    const { json } = await placeOrder(service, 'acme')
    service.lines.length = 0
    await expect(found(json.id, 'other')).rejects.toThrow(json.id)
  })

  describe('by a correlation id that several tenants have sent', () => {
    const headers = { 'X-Correlation-Id': 'shared-1' }
    const orderOf = async (tenant: string) => String((await placeOrder(service, tenant, { headers })).json.id)

    test('names the tenants, and says that it is a sample', async () => {
      await orderOf('acme')
      await orderOf('rival')
      const timeline = await found('shared-1')
      expect(timeline.found).toEqual([
        { kind: 'correlation id', id: 'shared-1', tenant: 'acme' },
        { kind: 'correlation id', id: 'shared-1', tenant: 'rival' },
      ])
      expect(timeline.entries.map(({ tenant }) => tenant).toSorted()).toEqual(['acme', 'rival'])
      expect(timeline.read.complete).toBe(false)
    })

    test('shows what is of the named tenant, or of the tenant of the item, and lines without a tenant', async () => {
      const id = await orderOf('acme')
      const other = await orderOf('rival')
      const line = { at: Date.now() - 1, fields: { message: 'event', correlation_id: 'shared-1' } }
      const lines = [...loggedLines(), line]
      for (const [what, tenant] of [['shared-1', 'acme'], [id]] as const) {
        const { searchLogs } = reachTo(service.tableName, { lines })
        const options = { tenant, to: Date.now() + 60_000 }
        const timeline = await find({ ...reach(), searchLogs }, what, options)
        expect(timeline.found).toEqual([{ kind: 'order', id, tenant: 'acme' }])
        expect(new Set(timeline.entries.map(({ tenant }) => tenant))).toEqual(new Set(['acme', undefined]))
        expect(JSON.stringify(timeline)).not.toContain(other)
      }
    })
  })

  test('shows the dead letters that have a text as a whole value, and none of another tenant', async () => {
    const headers = { 'X-Correlation-Id': 'e' }
    await placeOrder(service, 'acme', { headers })
    const message = (tenant_id: string, correlation_id: string) =>
      dead.put(JSON.stringify({ detail: { correlation_id, data: { tenant_id, note: 'an e here' } } }))
    const own = message('acme', 'e')
    message('acme', 'else')
    message('rival', 'e')
    const letters = deadLettersAt(`${aws.endpoint}/dead`, aws.access)
    const { lettersOf } = reachTo(service.tableName, {
      letters: { published_events: { letters, attempts: 5 } },
    })
    const { entries } = await find({ ...reach(), lettersOf }, 'e', { to: Date.now() + 60_000 })
    expect(entries.filter(({ kind }) => kind === 'dead_letter').map(({ id }) => id)).toEqual([own])
  })

  test('shows no answer of a subscriber', async () => {
    const { json } = await placeOrder(service, 'acme')
    const item = await service.table.get(keyOf('acme', 'order', json.id))
    const [event] = item ? publishedEvents(item) : []
    if (!event) throw new Error('the order has no event')
    const ref = { tenant: 'acme', subscriber: 'the-subscriber' }
    const made = newDelivery(ref, event, { state: 'waiting', now: Date.now(), settings: service.settings })
    const attempt = {
      at: new Date().toISOString(),
      status: 500,
      reason: 'status',
      milliseconds: 7,
      answer: 'Dear Jane',
    }
    await service.table.put({ item: { ...made, state: 'failed', attempts: [attempt] }, condition: 'none' })
    const timeline = await found(json.id)
    expect(timeline.entries.find(({ kind }) => kind === 'delivery')?.data).toMatchObject({
      attempts: [{ status: 500, milliseconds: 7 }],
    })
    expect(JSON.stringify(timeline)).not.toContain('Jane')
  })

  test('shows what the table knows if the logs cannot be searched, and says why', async () => {
    const { json } = await placeOrder(service, 'acme')
    const searchLogs = async () => Promise.reject(new Error('AccessDeniedException: not today'))
    const { entries, read } = await find({ ...reach(), searchLogs }, json.id, { to: Date.now() + 60_000 })
    expect([entries.length > 0, read.logs_failed]).toEqual([true, 'AccessDeniedException: not today'])
  })

  test('fails with the failure of the logs if nothing else is known', async () => {
    const searchLogs = async () => Promise.reject(new Error('AccessDeniedException: not today'))
    await expect(find({ ...reach(), searchLogs }, 'no-such')).rejects.toThrow('not today')
  })

  test('fails if nothing is known, with the time in which it looked', async () => {
    await expect(found('no-such')).rejects.toThrow(/no-such from \d{4}-.*--tenant/)
  })

  test('lists its entries in the order of time, and says what it has read', async () => {
    const { id } = await refund('acme', 'ch_order')
    const { entries, read } = await found(id)
    const times = entries.map(({ at }) => at)
    expect(times).toEqual(times.toSorted())
    expect(read).toMatchObject({ complete: true, calls: expect.any(Number) })
  })
})
