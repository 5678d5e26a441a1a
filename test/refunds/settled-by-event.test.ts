import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { handleEvent } from '#shared/webhooks/handle-event.ts'
import { type InboxItem, inboxKey } from '#shared/webhooks/inbox.ts'
import { declaredTable } from '#test/support/declared-table.ts'
import { startPaymentProvider } from '#test/support/payment-provider/payment-provider.ts'
import { startService } from '#test/support/service.ts'
import { profile } from '#test/support/settings.ts'
import { eventOf, signed } from '#test/support/signed-events.ts'
import { uniqueTenant } from '#test/support/unique-tenant.ts'
import { ledgerOf, summaryOf } from './refund-ledger-check.ts'

let tenant: string
const provider = await startPaymentProvider()
const service = await startService({
  settings: profile('shared/settings/profiles/local.json', {
    'refunds.provider': { endpoint: provider.endpoint, attemptMilliseconds: 5000 },
  }),
})
beforeEach(() => {
  tenant = uniqueTenant('settled')
})
afterEach(() => {
  provider.faults = () => undefined
})
afterAll(() => provider.stop())

const refund = (charge_id: string) =>
  service.call({
    method: 'POST',
    path: '/v1/refunds',
    as: { tenant },
    headers: { 'Idempotency-Key': 'key' },
    body: { charge_id, amount: 700 },
  })

/** Receives an event of a time, in milliseconds from now. Returns its id. */
async function receive(id: string, more: object = {}, type = 'refund.succeeded', at = 0): Promise<string> {
  const occurred_at = new Date(Date.now() + at).toISOString()
  const event = eventOf(type, { id, ...more }, { occurred_at })
  const body = JSON.stringify(event)
  await service.call({ method: 'POST', path: '/v1/webhooks/events', headers: signed(body), body })
  return event.event_id
}

const handle = (eventId: string) =>
  handleEvent(eventId, { ...service.runtime, table: declaredTable('webhooks.handle', service.table) })
/** Delivers like the queue: failed messages again. */
const handleAtLast = (eventId: string): Promise<unknown> =>
  handle(eventId).catch((thrown) => {
    if (thrown.code !== 'TRANSIENT.error' && thrown.code !== 'INTERNAL.unexpected') throw thrown
    return handleAtLast(eventId)
  })

const done = { refunds: ['succeeded'], ledger: 1, payouts: 1 }

async function expectOneEntry() {
  const state = await ledgerOf(service, provider, tenant)
  expect(summaryOf(state)).toEqual(done)
  const [refunded] = state.refunds
  expect(state.ledger).toEqual([
    expect.objectContaining({ refund_id: refunded?.id, charge_id: refunded?.charge_id, amount: 700 }),
  ])
  expect(state.succeededEvents).toEqual([refunded?.id])
}

/** Starts a refund that the provider holds until release. */
async function underWay(charge_id: string) {
  const work = Promise.withResolvers<void>()
  provider.faults = () => ({ until: work.promise })
  const { length: before } = provider.calls
  const answer = refund(charge_id)
  while (provider.calls.length === before) await new Promise((resolve) => setTimeout(resolve, 2))
  const [item] = await service.items(tenant, 'refund')
  return { id: String(item?.id), answer, goOn: () => work.resolve() }
}

describe('a refund that the provider leaves pending', () => {
  test('is settled once by repeated events', async () => {
    const first = await refund('ch_pending_1')
    expect(first).toMatchObject({ status: 201, json: { status: 'pending' } })
    expect(summaryOf(await ledgerOf(service, provider, tenant))).toEqual({
      refunds: ['pending'],
      ledger: 0,
      payouts: 1,
    })
    const event = await receive(first.json.id)
    expect([await handle(event), await handle(event)]).toEqual(['handled', 'known'])
    expect(await handle(await receive(first.json.id))).toBe('handled')
    await expectOneEntry()
    const replay = await refund('ch_pending_1')
    expect([replay.status, replay.body]).toEqual([201, first.body])
  })

  test('is settled once by ten concurrent events', async () => {
    const { json } = await refund('ch_pending_1')
    const events = await Promise.all(Array.from({ length: 10 }, () => receive(json.id)))
    await Promise.all([...events, ...events].map(handleAtLast))
    await expectOneEntry()
  })
})

describe.each(['ch_ok_1', 'ch_pending_1'])('an event of a refund %s', (charge) => {
  test('that arrives before the outcome is committed determines the outcome', async () => {
    const { id, answer, goOn } = await underWay(charge)
    await handle(await receive(id))
    await handle(await receive(id))
    goOn()
    const first = await answer
    expect(first).toMatchObject({ status: 201, json: { status: 'succeeded', id } })
    await expectOneEntry()
    expect((await refund(charge)).body).toBe(first.body)
  })

  test('that arrives concurrently with the outcome results in one entry', async () => {
    for (let round = 0; round < 15; round += 1) {
      tenant = `${tenant}-${round}`
      const { id, answer, goOn } = await underWay(charge)
      const events = [await receive(id), await receive(id)]
      goOn()
      const [first] = await Promise.all([answer, ...events.map(handleAtLast)])
      expect(first.status).toBe(201)
      await expectOneEntry()
      expect((await refund(charge)).body).toBe(first.body)
    }
  })

  test('that arrives afterwards leaves its one entry unchanged', async () => {
    const { json } = await refund(charge)
    await handle(await receive(json.id))
    const before = await service.items(tenant, 'ledger')
    await handle(await receive(json.id))
    expect(await service.items(tenant, 'ledger')).toEqual(before)
    await expectOneEntry()
  })
})

describe('an event of a refund', () => {
  test('that is unknown is kept, and settles nothing', async () => {
    const event = await receive('01900000-0000-8000-8000-000000000000', { tenant_id: tenant })
    await expect(handle(event)).rejects.toMatchObject({ code: 'NOT_FOUND.refund' })
    expect((await service.table.get(inboxKey(event))) as InboxItem | undefined).toMatchObject({
      state: 'received',
    })
    expect(await service.items(tenant, 'ledger')).toEqual([])
  })

  test('with another tenant settles nothing', async () => {
    const { json } = await refund('ch_pending_1')
    const event = await receive(json.id, { tenant_id: 'another' })
    await expect(handle(event)).rejects.toMatchObject({ code: 'NOT_FOUND.refund' })
    expect(summaryOf(await ledgerOf(service, provider, tenant))).toMatchObject({
      refunds: ['pending'],
      ledger: 0,
    })
    expect(await service.items('another', 'ledger')).toEqual([])
  })

  test('that the provider rejected books a late payout, and raises an alarm', async () => {
    service.alerts.length = 0
    const declined = await refund('ch_declined_1')
    await handle(await receive(declined.json.error.details.refund_id))
    const { refunds, ledger, succeededEvents } = await ledgerOf(service, provider, tenant)
    expect(refunds).toMatchObject([{ status: 'succeeded' }])
    expect(ledger).toMatchObject([{ kind: 'payout', amount: 700 }])
    expect(succeededEvents).toHaveLength(1)
    expect(service.alerts).toEqual(['REFUND_PAID_LATE'])
  })
})

describe('refund.failed', () => {
  const minute = 60_000
  const failed = (id: string, at = 0, more: object = {}) => receive(id, more, 'refund.failed', at)
  const state = () => ledgerOf(service, provider, tenant)

  test('of a later time on a refund that was answered as succeeded is a reversal', async () => {
    const { json } = await refund('ch_ok_1')
    await handle(await failed(json.id, minute))
    const { refunds, ledger } = await state()
    const facts = { currency: 'EUR', provider_refund_id: refunds[0]?.provider_refund_id }
    expect(refunds).toMatchObject([{ status: 'reversed', provider_refund_id: expect.stringMatching(/^re_/) }])
    expect(ledger).toMatchObject([
      { refund_id: json.id, kind: 'payout', amount: 700, ...facts },
      { refund_id: json.id, kind: 'reversal', amount: -700, ...facts },
    ])
  })

  test('of another tenant is retried and changes nothing', async () => {
    const { json } = await refund('ch_ok_1')
    const event = await failed(json.id, minute, { tenant_id: 'another' })
    await expect(handle(event)).rejects.toMatchObject({ code: 'NOT_FOUND.refund' })
    await expectOneEntry()
  })

  test('leaves the stored response of the request', async () => {
    const first = await refund('ch_ok_1')
    await handle(await failed(first.json.id, minute))
    expect((await refund('ch_ok_1')).body).toBe(first.body)
  })
})
