import { readFileSync } from 'node:fs'
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals'
import { adoptPayouts, missingPayouts } from '#bin/commands/refunds/adopt-payouts.ts'
import { type Clock, startBudget, systemClock } from '#shared/platform/base/clock.ts'
import { maxPendingSagas, recordBacklogs } from '#shared/platform/idempotency/backlog.ts'
import { pendingEntries } from '#shared/platform/table/pending-entries.ts'
import { stripeRefunds } from '#shared/refunds/list-stripe-refunds.ts'
import { reconcile } from '#shared/refunds/reconcile.ts'
import { movableSystemClock } from '#test/support/clocks.ts'
import { declaredTable } from '#test/support/declared-table.ts'
import { itemsOf } from '#test/support/dynamodb-client.ts'
import { outcome } from '#test/support/outcome.ts'
import { startPaymentProvider } from '#test/support/payment-provider/payment-provider.ts'
import { errorAnswer } from '#test/support/payment-provider/stripe-wire.ts'
import { receiveEvent } from '#test/support/received-events.ts'
import { type Service, startService } from '#test/support/service.ts'
import { profile } from '#test/support/settings.ts'
import { eventOf } from '#test/support/signed-events.ts'
import { uniqueTenant } from '#test/support/unique-tenant.ts'
import { expectBalanced, ledgerOf, summaryOf } from './refund-ledger-check.ts'

/** Refunds of the service with the fake provider. The rules of each part have tests of their own. */

const provider = await startPaymentProvider()
const { endpoint } = provider
const works = () => undefined
/** While the provider fails, attempts follow each other at once. */
const clock: Clock = {
  ...systemClock,
  sleep: (milliseconds) => systemClock.sleep(provider.faults === works ? milliseconds : 0),
}
const settingsWith = (changes: object) =>
  profile('shared/settings/profiles/local.json', {
    'refunds.provider': { endpoint, attemptMilliseconds: 10_000 },
    ...changes,
  })
const service = await startService({ clock, settings: settingsWith({}) })
let tenant: string
beforeEach(() => {
  provider.faults = works
  tenant = uniqueTenant('refunding')
})
afterAll(() => provider.stop())

interface How {
  amount?: number
  headers?: Record<string, string>
  as?: object
  by?: Service
}

/** Requests a refund with its charge as the key. */
const refund = (charge_id: string, { amount = 700, headers, as = { tenant }, by = service }: How = {}) =>
  by.call({
    method: 'POST',
    path: `/v1/refunds?tenant=${tenant}`,
    as: { role: 'Editor', ...as },
    headers: { 'Idempotency-Key': charge_id, ...headers },
    body: { charge_id, amount },
  })
const read = (id: string, headers: Record<string, string> = {}) =>
  service.call({ path: `/v1/refunds/${id}`, as: { tenant, role: 'Viewer' }, headers })

let reports = 0
/** Receives an event of the provider that occurred a minute from now, each later than the one before. */
const report = (type: string, id: string, tenant_id = tenant) => {
  const occurred_at = new Date(Date.now() + 60_000 + reports++).toISOString()
  return receiveEvent(service, eventOf(type, { id, tenant_id }, { occurred_at }))
}

test('the limit of a tenant in docs/security.md holds for its refunds, and for no other tenant', async () => {
  const [, text = ''] = /`("refunds\.create": \[.*\])`/.exec(readFileSync('docs/security.md', 'utf8')) ?? []
  const limits = JSON.parse(`{${text}}`)
  limits['refunds.create'][0].limit = 2
  const limited = await startService({ clock, settings: settingsWith({ 'limits.other': limits }) })
  const charges = ['ch_1', 'ch_1', 'ch_2', 'ch_3', 'ch_1']
  const statuses: number[] = []
  for (const charge of charges) statuses.push((await refund(charge, { by: limited })).status)
  expect(statuses).toEqual([201, 201, 201, 429, 201])
  tenant = uniqueTenant('refunding')
  expect((await refund('ch_4', { by: limited })).status).toBe(201)
})

describe('a refund', () => {
  test('stores nothing until the key of the provider is stored', async () => {
    const secrets: { payments: string } = { payments: 'none' }
    const waiting = await startService({
      clock,
      settings: settingsWith({}),
      secrets,
      tableName: service.tableName,
    })
    const early = await refund('ch_early', { by: waiting })
    expect([outcome(early), early.json.error.details]).toEqual([
      '503 DEPENDENCY.unavailable',
      { dependency: 'payments' },
    ])
    expect([await waiting.items(tenant, 'refund'), await waiting.items(tenant, 'audit')]).toEqual([[], []])
    secrets.payments = 'sk_test_1'
    const repeated = await refund('ch_early', { by: waiting })
    expect([repeated.status, repeated.headers['Idempotency-Status']]).toEqual([201, 'stored'])
  })

  test('propagates the trace of its request to the provider', async () => {
    const trace = {
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      tracestate: 'a=b',
      baggage: 'shop=one',
    }
    await refund('ch_traced', { headers: trace })
    expect(provider.calls.find(({ account }) => account === `acct_${tenant}`)?.trace).toEqual(trace)
  })

  test('that a table has lost is one payout: its retry adopts it, whatever reports it later', async () => {
    const lost = await refund('ch_lost')
    const restored = await startService({ clock, settings: settingsWith({}) })
    const { status, json } = await refund('ch_lost', { by: restored })
    expect([status, json.amount, json.status]).toEqual([201, 700, 'succeeded'])
    expect(json.id).not.toBe(lost.json.id)
    const state = await ledgerOf(restored, provider, tenant)
    expectBalanced(state)
    expect(summaryOf(state)).toEqual({ refunds: ['succeeded'], ledger: 1, payouts: 1 })
  })

  test('is one payout, one ledger entry and one response for repeated requests with its key', async () => {
    const first = await refund('ch_1')
    expect([first.status, first.headers['Idempotency-Status'], first.json]).toEqual([
      201,
      'stored',
      expect.objectContaining({ charge_id: 'ch_1', amount: 700, status: 'succeeded' }),
    ])
    const again = await refund('ch_1')
    expect([again.status, again.body, again.headers['Idempotency-Status']]).toEqual([
      201,
      first.body,
      'replayed',
    ])
    const state = await ledgerOf(service, provider, tenant)
    expectBalanced(state)
    expect(summaryOf(state)).toEqual({ refunds: ['succeeded'], ledger: 1, payouts: 1 })
    expect((await service.items(tenant, 'audit')).map(({ action }) => action)).toEqual([
      'refund',
      'refund_succeeded',
    ])
  })

  test('of an Admin in another tenant is denied in the audit of that tenant', async () => {
    await refund('ch_declined_3', { as: { tenant: 'head-office', role: 'Admin', sub: 'chief' } })
    const audited = await service.items(tenant, 'audit')
    expect(audited.map(({ actor_id, result }) => [actor_id, result])).toEqual([
      ['chief', 'allow'],
      ['payment_provider', 'deny'],
    ])
  })

  test('that an Admin of another tenant asked for is pending work of the tenant that pays', async () => {
    provider.faults = () => ({ when: 'before', how: 'reset' })
    expect((await refund('ch_across', { as: { tenant: 'ops', role: 'Admin' } })).status).toBe(503)
    const pending = await pendingEntries(service.table, 'pending-saga')
    expect(pending.map(({ tenant }) => tenant)).toContain(tenant)
  })

  test('in an account that ended the access stays pending until an event ends it', async () => {
    const clock = movableSystemClock()
    const by = await startService({ clock, settings: settingsWith({}) })
    const how = errorAnswer(403, { code: 'account_invalid', message: 'No access.' })
    provider.faults = () => ({ when: 'before', how })
    expect((await refund('ch_ended', { by })).status).toBe(503)
    const [pending] = await by.items(tenant, 'refund')
    expect(pending).toMatchObject({ status: 'pending' })
    await receiveEvent(by, eventOf('refund.failed', { id: String(pending?.id), tenant_id: tenant }))
    clock.advance(10_000)
    expect(outcome(await refund('ch_ended', { by }))).toBe('409 POLICY.refund.declined')
    const left = await pendingEntries(by.table, 'pending-saga')
    expect(left.filter((one) => one.tenant === tenant)).toEqual([])
  })

  test('of a tenant with too many pending ones is 429, unless its key is known', async () => {
    const clock = movableSystemClock()
    const by = await startService({ clock, settings: settingsWith({}) })
    const before = await refund('ch_before', { by })
    provider.faults = () => ({ when: 'before', how: 'reset' })
    expect((await refund('ch_pending', { by })).status).toBe(503)
    provider.faults = works
    await recordBacklogs(new Map([[tenant, maxPendingSagas]]), by.table)
    clock.advance(30_000)
    const refused = await refund('ch_new', { by })
    expect(outcome(refused)).toBe('429 RATE_LIMIT.exceeded')
    expect(refused.headers['Retry-After']).toBe('60')
    expect(await by.items(tenant, 'refund')).toHaveLength(2)
    const replayed = await refund('ch_before', { by })
    expect([replayed.status, replayed.body]).toEqual([201, before.body])
    expect(outcome(await refund('ch_pending', { by }))).toBe('201')
    expect(outcome(await refund('ch_before', { amount: 1, by }))).toBe(
      '409 CONFLICT.idempotency.payload_mismatch',
    )
  })

  test('that the provider had executed before returns its result, and is logged without naming it', async () => {
    provider.faults = () => ({ when: 'after', how: 'reset' })
    expect((await refund('ch_7')).status).toBe(503)
    provider.faults = works
    service.notices.length = 0
    expect(await refund('ch_7')).toMatchObject({ status: 201, json: { status: 'succeeded' } })
    const state = await ledgerOf(service, provider, tenant)
    expectBalanced(state)
    expect(summaryOf(state)).toEqual({ refunds: ['succeeded'], ledger: 1, payouts: 1 })
    expect(service.notices).toMatchObject([{ code: 'PROVIDER_REPLAYED', operation: 'refunds.create' }])
    expect(JSON.stringify(service.notices)).not.toMatch(/ch_7|refunding|re_|acct_/)
  })

  test('is read at the Location of its 201', async () => {
    const { json, headers } = await refund('ch_located')
    expect(headers.Location).toBe(`/v1/refunds/${json.id}`)
    const { status, json: refunded } = await read(json.id)
    expect([status, refunded]).toEqual([200, json])
  })

  test('has its Location if an event settles it before its request ends', async () => {
    const work = Promise.withResolvers<void>()
    provider.faults = () => ({ until: work.promise })
    const { length: before } = provider.calls
    const request = refund('ch_overtaken')
    while (provider.calls.length === before) await new Promise((resolve) => setTimeout(resolve, 2))
    const [{ id } = { id: '' }] = await service.items(tenant, 'refund')
    await report('refund.succeeded', String(id))
    work.resolve()
    const { status, headers } = await request
    expect([status, headers.Location]).toEqual([201, `/v1/refunds/${id}`])
  })

  test('has another entity tag once its status has changed', async () => {
    const { json } = await refund('ch_pending_polled')
    const pending = await read(json.id)
    expect(pending.json.status).toBe('pending')
    await report('refund.succeeded', json.id)
    const settled = await read(json.id, { 'If-None-Match': pending.headers.ETag ?? '' })
    expect([settled.status, settled.json]).toEqual([200, { ...json, status: 'succeeded' }])
  })
})

describe('an event of the provider is not handled', () => {
  test('if it reports a success after a reversal', async () => {
    const { id } = (await refund('ch_one')).json
    await report('refund.failed', id)
    await expect(report('refund.succeeded', id)).rejects.toThrow('a refund succeeded after its reversal')
  })

  test('if it names another tenant', async () => {
    const { id } = (await refund('ch_one')).json
    await expect(report('refund.failed', id, 'another')).rejects.toMatchObject({ code: 'NOT_FOUND.refund' })
    expect((await read(id)).json.status).toBe('succeeded')
  })
})

describe('the comparison with the provider', () => {
  /** Returns the kind and the refund of each difference, and the sums. */
  async function compared(by = service) {
    const providerRefunds = stripeRefunds({ apiKey: 'sk_test', endpoint, attemptMilliseconds: 5000, clock })
    const now = Date.now()
    const range = { tenant, account: `acct_${tenant}`, from: now - 3_600_000, to: now + 1000 }
    const context = {
      table: declaredTable('refunds.reconcile', by.table),
      providerRefunds,
      budget: startBudget(systemClock, 60_000),
    }
    const found: unknown[] = []
    for await (const { differences, totals } of reconcile(range, context))
      found.push(...differences.map(({ finding, refund_id }) => [finding, refund_id]), totals)
    return found
  }
  const sums = (amount: number, ledger = amount) => [{ currency: 'EUR', provider: amount, ledger }]

  test('agrees in every field', async () => {
    for (const charge of ['ch_one', 'ch_pending_1', 'ch_two']) await refund(charge)
    expect(await compared()).toEqual([sums(1400)])
  })

  test('differs in a payout that the provider takes back until its event is handled', async () => {
    const { id } = (await refund('ch_one')).json
    Object.assign(provider.refunds().find(({ metadata }) => metadata.refund_id === id) ?? {}, {
      status: 'failed',
    })
    expect(await compared()).toEqual([['not_reversed', id], sums(0, 700)])
    await report('refund.failed', id)
    expect(await compared()).toEqual([sums(0)])
  })

  test('agrees after a restore to an earlier time, once the payouts since then are adopted', async () => {
    await refund('ch_early')
    const before = await itemsOf(service.tableName)
    const late = (await refund('ch_late')).json
    const pending = (await refund('ch_pending_2')).json
    await refund('ch_retried')
    const restored = await startService({ clock, settings: service.settings })
    for (const item of before) await restored.table.put({ item, condition: 'none' })
    // A caller that repeats its request before the command gets a new refund for the same payout.
    const retried = (await refund('ch_retried', { by: restored })).json
    expect(await compared(restored)).toEqual([['not_in_ledger', late.id], sums(2100, 1400)])

    const adopt = async () => {
      const adopting = {
        operator: { table: restored.table, clock, name: 'jane' },
        providerRefunds: stripeRefunds({ apiKey: 'sk_test', endpoint, attemptMilliseconds: 5000, clock }),
        budget: startBudget(systemClock, 60_000),
        settings: service.settings,
      }
      const period = { from: Date.now() - 3_600_000, to: Date.now() + 1000 }
      const missing = await missingPayouts({ tenant, accounts: [`acct_${tenant}`], ...period }, adopting)
      const adopted: unknown[] = []
      for await (const { refund_id, status } of adoptPayouts(tenant, missing, adopting))
        adopted.push([refund_id, status])
      return adopted
    }
    expect(await adopt()).toEqual([
      [late.id, 'succeeded'],
      [pending.id, 'pending'],
    ])
    expect(await compared(restored)).toEqual([sums(2100)])
    for (const { id } of [late, pending]) {
      const call = { path: `/v1/refunds/${id}`, as: { tenant, role: 'Viewer' as const } }
      expect((await restored.call(call)).json).toEqual((await service.call(call)).json)
    }
    expect(await adopt()).toEqual([])
    // One that repeats it after the command gets the refund that was booked.
    expect((await refund('ch_late', { by: restored })).json).toEqual(late)
    expect((await refund('ch_retried', { by: restored })).json).toEqual(retried)
    expect(await compared(restored)).toEqual([sums(2100)])
  })
})
