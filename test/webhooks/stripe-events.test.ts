import { beforeEach, describe, expect, test } from '@jest/globals'
import { connectAccount, disconnectAccount } from '#bin/commands/tenants/connect-account.ts'
import { route } from '#functions/webhooks/receive-stripe-event/route.ts'
import { newId, systemClock, timestamp } from '#shared/platform/base/clock.ts'
import { findAccount, readCurrent } from '#shared/refunds/accounts.ts'
import { makeRefund, type Refund } from '#shared/refunds/refund.ts'
import { findRefund, startWrites } from '#shared/refunds/refund-store.ts'
import { inboxKey } from '#shared/webhooks/inbox.ts'
import type { StripeEvent } from '#shared/webhooks/stripe-event.ts'
import { movableClock } from '#test/support/clocks.ts'
import { handleReceived, receiveEvent } from '#test/support/received-events.ts'
import { startService } from '#test/support/service.ts'
import { profile } from '#test/support/settings.ts'
import { eventOf } from '#test/support/signed-events.ts'
import { signedByStripe, stripeEventOf } from '#test/support/stripe-events.ts'
import { uniqueTenant } from '#test/support/unique-tenant.ts'

const settings = profile('shared/settings/profiles/local.json', { 'refunds.account': 'connected' })
const service = await startService({ settings })
const live = await startService({
  settings,
  tableName: service.tableName,
  secrets: { payments: 'sk_live_1' },
})

/** The second at which the refunds of these tests are paid. */
const second = Math.floor(Date.now() / 1000)

let tenant: string
beforeEach(() => {
  tenant = uniqueTenant('striped')
  service.events.length = 0
  service.alerts.length = 0
})

/** A pending refund of which the provider's id is not known yet. */
async function start(of: Partial<Refund> = {}): Promise<Refund> {
  const id = newId(systemClock)
  const refund = {
    ...makeRefund(
      { charge_id: 'ch_1', amount: 700 },
      { id, tenant_id: tenant, account: `acct_${tenant}`, request_name: 'request-1' },
    ),
    ...of,
  }
  await service.table.transact(startWrites(refund, settings))
  return refund
}

/** Returns Stripe's object of a refund. */
function objectOf(refund: Refund, changes: object = {}) {
  return {
    id: 're_1',
    object: 'refund',
    amount: refund.amount,
    balance_transaction: 'txn_1',
    charge: refund.charge_id,
    created: second,
    currency: 'eur',
    destination_details: { card: { reference: '7' }, type: 'card' },
    metadata: { refund_id: refund.id, tenant_id: refund.tenant_id, request: refund.request_name },
    payment_intent: 'pi_1',
    reason: null,
    status: 'succeeded',
    ...changes,
  }
}

interface Sent {
  type?: string
  /** Seconds after the payout. */
  after?: number
  object?: object
  event?: Partial<StripeEvent>
}

function eventAbout(
  refund: Refund,
  { type = 'refund.updated', after = 0, object, event }: Sent = {},
): StripeEvent {
  const more = { account: refund.account, created: second + after, ...event }
  return stripeEventOf(type, objectOf(refund, object), more)
}

const send = (event: object, body = JSON.stringify(event), headers = signedByStripe(body)) =>
  service.call({ method: 'POST', path: '/v1/webhooks/stripe', headers, body })

/** Sends and handles an event. @returns how it was handled */
async function receive(event: StripeEvent, by = service) {
  expect((await send(event)).status).toBe(202)
  return handleReceived(by, `stripe ${event.id}`)
}

const stored = async ({ tenant_id, id }: Refund) => findRefund(service.table, tenant_id, id)
const ledger = async () =>
  (await service.items(tenant, 'ledger')).map(({ kind, amount, provider_refund_id, currency }) => {
    return `${kind} ${amount} ${currency} ${provider_refund_id}`
  })
const payout = 'payout 700 EUR re_1'
const reversal = 'reversal -700 EUR re_1'

describe('POST /v1/webhooks/stripe', () => {
  test('refuses an event that is signed as those of partners are', async () => {
    const event = eventAbout(await start())
    const answer = await send(event, JSON.stringify(event), { 'Stripe-Signature': 't=1,v1=00' })
    expect([answer.status, answer.json.error.code]).toEqual([401, 'AUTH.invalid_credentials'])
    expect(await service.table.get(inboxKey(event.id, 'stripe'))).toBeUndefined()
  })

  test('stores an event once, and returns the same response for a duplicate', async () => {
    const event = eventAbout(await start())
    const [first, again] = [await send(event), await send(event)]
    expect([first.status, first.body, again.status, again.body]).toEqual([202, undefined, 202, undefined])
    expect(await handleReceived(service, `stripe ${event.id}`)).toBe('handled')
    await send(event)
    expect(await handleReceived(service, `stripe ${event.id}`)).toBe('known')
  })

  test('stores nothing that no handler reads', async () => {
    const refund = await start()
    const more = {
      metadata: { refund_id: refund.id, tenant_id: tenant, request: refund.request_name, name: 'Jane' },
      destination_details: { name: 'Jane' },
    }
    const event = eventAbout(refund, { object: more })
    await send(event)
    const item = await service.table.get(inboxKey(event.id, 'stripe'))
    expect(JSON.stringify(item)).not.toContain('Jane')
  })

  test('takes the example of its description for the report of a refund', async () => {
    const event = { ...(route.example?.(settings, 'application/json') as StripeEvent), id: `evt_${tenant}` }
    await send(event)
    const item = await service.table.get(inboxKey(event.id, 'stripe'))
    expect(JSON.parse(String(item?.event))).toMatchObject({ data: { refund: { id: 're_1' } } })
  })

  test('rejects an event that is not a snapshot', async () => {
    const thin = { id: 'evt_1', object: 'v2.core.event', type: 'v1.refund.updated', created: '2026-01-01' }
    expect((await send(thin)).status).toBe(400)
  })

  test('keeps the event of a partner with the same id apart', async () => {
    const refund = await start()
    const event = eventAbout(refund)
    const ofPartner = eventOf('parcel.packed', { id: 'p' }, { event_id: event.id })
    expect(await receiveEvent(service, ofPartner)).toBe('ignored')
    expect(await receive(event)).toBe('handled')
    expect(await stored(refund)).toMatchObject({ status: 'succeeded' })
  })
})

describe.each(['refund.created', 'refund.updated', 'refund.failed', 'charge.refund.updated'])(
  '%s',
  (type) => {
    test.each([
      ['succeeded', 'handled', 'succeeded', [payout]],
      ['failed', 'handled', 'failed', []],
      ['canceled', 'handled', 'failed', []],
      ['pending', 'handled', 'pending', []],
      ['requires_action', 'handled', 'pending', []],
      ['of a later version of Stripe', 'ignored', 'pending', []],
      [null, 'ignored', 'pending', []],
    ])('with the status %s is %s: the refund is %s', async (status, how, expected, entries) => {
      const refund = await start()
      expect(await receive(eventAbout(refund, { type, object: { status } }))).toBe(how)
      const learned = how === 'handled' && { provider_refund_id: 're_1', currency: 'EUR' }
      expect(await stored(refund)).toMatchObject({ status: expected, ...learned })
      expect(await ledger()).toEqual(entries)
    })
  },
)

describe('an event', () => {
  const of = (object: object, event: Partial<StripeEvent> = {}): Sent => ({ object, event })
  const other = newId(systemClock)
  const request = 'request-1'

  test.each<[string, Sent]>([
    ['of live mode', of({}, { livemode: true })],
    ['of an account that no tenant has', of({}, { account: 'unknown' })],
    ['of the account of another tenant', of({}, { account: 'acct_another' })],
    [
      'with the metadata of another tenant',
      of({ metadata: { refund_id: other, tenant_id: 'another', request } }),
    ],
    ['of the platform’s own account', of({}, { account: undefined } as never)],
    ['of another charge', of({ charge: 'ch_2' })],
    ['without a charge', of({ charge: null })],
    ['of another amount', of({ amount: 701 })],
    ['of an amount that is no integer', of({ amount: 700.5 })],
    ['of another refund', of({ metadata: { refund_id: other, tenant_id: 'striped', request } })],
    ['of a refund that is made outside the service', of({ metadata: {} })],
    ['without metadata', of({ metadata: null })],
    ['with metadata of another service', of({ metadata: { refund_id: 'r/1 #x', tenant_id: '#', request } })],
    ['whose object has no id', of({ id: undefined })],
    ['about something else', { type: 'charge.refunded' }],
    ['of a type that is a member of every object', { type: 'constructor' }],
  ])('%s is ignored', async (_, sent) => {
    const refund = await start()
    const event = eventAbout(refund, sent)
    expect(await receive(JSON.parse(JSON.stringify(event)))).toBe('ignored')
    expect(await stored(refund)).toEqual(expect.objectContaining(refund))
    expect(service.events).toMatchObject([
      { code: 'EVENT_IGNORED', eventId: event.id, eventType: event.type },
    ])
  })

  test('of test mode is ignored by a service with a live key, and one of live mode counts', async () => {
    const refund = await start()
    expect(await receive(eventAbout(refund), live)).toBe('ignored')
    expect(await receive(eventAbout(refund, { event: { livemode: true } }), live)).toBe('handled')
  })

  test('about another refund of Stripe’s is ignored once the right one is known', async () => {
    const refund = await start({ provider_refund_id: 're_right', currency: 'EUR' })
    expect(await receive(eventAbout(refund))).toBe('ignored')
    expect(await receive(eventAbout(refund, { object: { id: 're_right' } }))).toBe('handled')
  })

  test('whose metadata name the refund of another tenant is ignored', async () => {
    const refund = await start()
    const foreign = eventAbout(refund, { event: { account: `acct_${uniqueTenant('foreign')}` } })
    expect(await receive(foreign)).toBe('ignored')
  })

  test('of a former account counts for the refunds that were made in it', async () => {
    const refund = await start({ account: 'former' })
    expect(await receive(eventAbout(refund))).toBe('handled')
  })

  test('of a blocked tenant waits', async () => {
    const blocking = {
      ...service,
      runtime: { ...service.runtime, isBlocked: async (one: string) => one === tenant },
    }
    const refund = await start()
    await expect(receive(eventAbout(refund), blocking)).rejects.toThrow('blocked')
    expect(await receive(eventAbout(refund, { event: { account: 'former' } }), blocking)).toBe('ignored')
  })
})

test('an event of a payout whose metadata was edited to name another refund is ignored', async () => {
  const paid = await start()
  const waiting = await start({ request_name: 'request-2' })
  await receive(eventAbout(paid))
  const metadata = { refund_id: waiting.id, tenant_id: tenant, request: paid.request_name }
  expect(await receive(eventAbout(waiting, { object: { metadata } }))).toBe('ignored')
  expect(await stored(waiting)).toEqual(expect.objectContaining(waiting))
  expect(await ledger()).toEqual([payout])
})

describe('the order of events', () => {
  const reports = {
    paid: { type: 'refund.created' },
    updated: { type: 'refund.updated', after: 1 },
    failed: { type: 'refund.failed', after: 259_200, object: { status: 'failed' } },
    failedAgain: { type: 'refund.updated', after: 259_200, object: { status: 'failed' } },
  }

  test('a payout that a bank returns is reversed, with one ledger entry each', async () => {
    const refund = await start()
    const handled = []
    for (const sent of Object.values(reports)) handled.push(await receive(eventAbout(refund, sent)))
    expect(handled).toEqual(['handled', 'handled', 'handled', 'handled'])
    expect([(await stored(refund))?.status, await ledger()]).toEqual(['reversed', [payout, reversal]])
    const actions = (await service.items(tenant, 'audit')).map(({ action }) => action)
    expect(actions).toEqual(['refund_succeeded', 'refund_reversed'])
    expect(service.alerts).toEqual([])
  })

  test('in the opposite order, the refund has failed, and nothing is booked', async () => {
    const refund = await start()
    for (const sent of Object.values(reports).toReversed()) await receive(eventAbout(refund, sent))
    expect([(await stored(refund))?.status, await ledger()]).toEqual(['failed', []])
  })

  test.each([
    ['after the payout', 'reversed', [payout, reversal], ['paid', 'failed'] as const],
    ['before the payout', 'failed', [], ['failed', 'paid'] as const],
  ])('a failure of the same second that arrives %s: %s', async (_, status, entries, order) => {
    const refund = await start()
    for (const one of order) await receive(eventAbout(refund, { ...reports[one], after: 0 }))
    expect([(await stored(refund))?.status, await ledger()]).toEqual([status, entries])
    expect(service.alerts).toEqual([])
  })

  test('a failure counts although the second of its time begins before the answer', async () => {
    const at = new Date(second * 1000 + 700).toISOString()
    const facts = { provider_refund_id: 're_1', currency: 'EUR' }
    const refund = await start({ status: 'succeeded', outcome_at: at, ...facts })
    expect(await receive(eventAbout(refund, { object: { status: 'failed' } }))).toBe('handled')
    expect(await stored(refund)).toMatchObject({ status: 'reversed' })
  })

  test('a success that follows a reversal changes nothing, and is no dead letter', async () => {
    const refund = await start()
    await receive(eventAbout(refund))
    await receive(eventAbout(refund, { object: { status: 'failed' } }))
    expect(await receive(eventAbout(refund, { after: 9 }))).toBe('handled')
    expect([(await stored(refund))?.status, await ledger()]).toEqual(['reversed', [payout, reversal]])
  })

  test('a payout after a rejection is booked, with an alert', async () => {
    const refund = await start({ status: 'failed' })
    await receive(eventAbout(refund))
    expect([(await stored(refund))?.status, await ledger()]).toEqual(['succeeded', [payout]])
    expect(service.alerts).toEqual(['REFUND_PAID_LATE'])
  })
})

describe('account.application.deauthorized', () => {
  const clock = movableClock(second * 1000)
  const operator = { table: service.table, clock, name: 'jane' }
  let account: string
  beforeEach(async () => {
    clock.advance(second * 1000 - clock.now())
    account = `acct_of_${tenant.replaceAll('-', '_')}`
    await connectAccount(operator, tenant, account)
  })

  /** @param after seconds after the account was connected */
  const lost = (after: number, event: Partial<StripeEvent> = {}, by = service) =>
    receive(
      stripeEventOf(
        'account.application.deauthorized',
        { id: 'ca_1', object: 'application' },
        { account, created: second + after, ...event },
      ),
      by,
    )
  const found = () => findAccount(service.table, tenant, account)
  const connected = async () => (await readCurrent(service.table, tenant)).account

  test('marks the account as lost, with an alert and an audit record', async () => {
    expect(await lost(60)).toBe('handled')
    expect(await found()).toMatchObject({ lost_at: timestamp((second + 60) * 1000) })
    expect([await connected(), service.alerts]).toEqual([undefined, ['PROVIDER_ACCOUNT_LOST']])
    const records = await service.items(tenant, 'audit')
    expect(records.at(-1)).toMatchObject({
      action: 'tenant.account_lost',
      actor_id: 'payment_provider',
      after: { account },
    })
  })

  test('changes nothing if it is repeated', async () => {
    await lost(60)
    expect(await lost(61)).toBe('handled')
    expect(await found()).toMatchObject({ lost_at: timestamp((second + 60) * 1000) })
    expect(service.alerts).toEqual(['PROVIDER_ACCOUNT_LOST'])
  })

  test('that arrives after the account was connected again changes nothing', async () => {
    await lost(60)
    clock.advance(120_000)
    await connectAccount(operator, tenant, account)
    expect(await found()).not.toHaveProperty('lost_at')
    expect(await lost(90)).toBe('handled')
    expect([await connected(), service.alerts]).toEqual([account, ['PROVIDER_ACCOUNT_LOST']])
    await lost(121)
    expect(await connected()).toBeUndefined()
  })

  test('of a former account leaves the connected one, without an alert', async () => {
    await connectAccount(operator, tenant, `${account}_new`)
    expect(await lost(60)).toBe('handled')
    expect(await found()).toHaveProperty('lost_at')
    expect([await connected(), service.alerts]).toEqual([`${account}_new`, []])
  })

  test('of a disconnected account raises no alert', async () => {
    await disconnectAccount(operator, tenant)
    await lost(60)
    expect(await found()).toHaveProperty('lost_at')
    expect(service.alerts).toEqual([])
  })

  test('of a blocked tenant is handled', async () => {
    const isBlocked = async () => true
    const blocking = { ...service, runtime: { ...service.runtime, isBlocked } }
    expect(await lost(60, {}, blocking)).toBe('handled')
    expect(await connected()).toBeUndefined()
  })

  test.each<[string, Partial<StripeEvent>]>([
    ['an account that no tenant has', { account: 'acct_unknown' }],
    ['live mode, with a test key', { livemode: true }],
  ])('of %s is ignored', async (_, event) => {
    expect(await lost(60, event)).toBe('ignored')
    expect(service.alerts).toEqual([])
    expect(await connected()).toBe(account)
  })
})
