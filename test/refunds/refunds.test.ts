import { afterAll, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { type Clock, systemClock } from '#shared/platform/base/clock.ts'
import { jsonLog, type LogReport } from '#shared/platform/base/log.ts'
import { pendingEntries } from '#shared/platform/table/table.ts'
import type { Refund } from '#shared/refunds/refund.ts'
import { outcome } from '#test/support/outcome.ts'
import { startPaymentProvider } from '#test/support/payment-provider/payment-provider.ts'
import { startService } from '#test/support/service.ts'
import { profile } from '#test/support/settings.ts'
import { expectBalanced, ledgerOf, summaryOf } from './refund-ledger-check.ts'

const provider = await startPaymentProvider()
const works = () => undefined
/** While the provider fails, attempts follow each other at once. */
const clock: Clock = {
  ...systemClock,
  sleep: (milliseconds) => systemClock.sleep(provider.faults === works ? milliseconds : 0),
}
beforeEach(() => {
  provider.faults = works
})
const service = await startService({ clock, settings: settingsAt(provider.endpoint) })
afterAll(() => provider.stop())

function settingsAt(endpoint: string, account: object = { accounts: {}, prefix: 'acct_' }) {
  return profile('shared/settings/profiles/local.json', {
    'refunds.account': account,
    'refunds.provider': { endpoint, attemptMilliseconds: 300 },
  })
}

let keys = 0
const refund = (tenant: string, body: object, key = `k${keys++}`, headers = {}) =>
  service.call({
    method: 'POST',
    path: '/v1/refunds',
    as: { tenant, role: 'Editor' },
    headers: { 'Idempotency-Key': key, ...headers },
    body,
  })
const entriesOf = async (tenant: string) => service.items(tenant, 'ledger')
const paidTo = (tenant: string) => provider.refunds().filter(({ account }) => account === `acct_${tenant}`)

describe('a refund', () => {
  test('propagates the trace of its request to the provider', async () => {
    const trace = {
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      tracestate: 'a=b',
      baggage: 'shop=one',
    }
    await refund('traced', { charge_id: 'ch_traced', amount: 1 }, 'traced', trace)
    expect(provider.calls.find(({ account }) => account === 'acct_traced')?.trace).toEqual(trace)
  })

  test('is one payout, one ledger entry and one response for repeated requests with its key', async () => {
    const body = { charge_id: 'ch_1', amount: 700 }
    const first = await refund('once', body, 'one')
    expect([first.status, first.headers['Idempotency-Status'], first.json]).toEqual([
      201,
      'stored',
      expect.objectContaining({ charge_id: 'ch_1', amount: 700, status: 'succeeded' }),
    ])
    const again = await refund('once', body, 'one')
    expect([again.status, again.body, again.headers['Idempotency-Status']]).toEqual([
      201,
      first.body,
      'replayed',
    ])
    expect(await entriesOf('once')).toEqual([
      expect.objectContaining({ refund_id: first.json.id, charge_id: 'ch_1', amount: 700, currency: 'EUR' }),
    ])
    expect(paidTo('once')).toHaveLength(1)
    expect(await service.items('once', 'audit')).toEqual([
      expect.objectContaining({ action: 'refund', result: 'allow', target: `refund/${first.json.id}` }),
      expect.objectContaining({ action: 'refund_succeeded', target: `refund/${first.json.id}` }),
    ])
  })

  test('with another key is another refund, within the amount of the charge', async () => {
    for (const key of ['a', 'b'])
      expect((await refund('twice', { charge_id: 'ch_2', amount: 50_000 }, key)).status).toBe(201)
    const over = await refund('twice', { charge_id: 'ch_2', amount: 1 }, 'c')
    expect(outcome(over)).toBe('409 POLICY.refund.exceeds_charge')
    expect(over.json.error.details).toEqual({ refund_id: expect.any(String), remaining: 0 })
    expect((await entriesOf('twice')).map(({ amount }) => amount)).toEqual([50_000, 50_000])
  })

  test.each([
    ['exceeds the charge', 'ch_over', 100_001, 'POLICY.refund.exceeds_charge'],
    ['the provider declines', 'ch_declined_2', 1, 'POLICY.refund.declined'],
    ['is of an unknown charge', 'px_2', 1, 'NOT_FOUND.charge'],
  ])(
    'that %s is audited as allowed and then as denied by the provider with its reason',
    async (_, charge_id, amount, reason) => {
      const tenant = `denied-${charge_id.replaceAll('_', '-')}`
      await refund(tenant, { charge_id, amount }, 'k')
      await refund(tenant, { charge_id, amount }, 'k')
      const [{ id }] = (await service.items(tenant, 'refund')) as unknown as [Refund]
      const entry = { target: `refund/${id}`, tenant_id: tenant }
      const caller = { action: 'refund', actor_id: 'u1', role: 'Editor' }
      const ofProvider = { action: 'refund_failed', actor_id: 'payment_provider', role: 'none' }
      const after = { status: 'failed', charge_id, amount }
      expect(await service.items(tenant, 'audit')).toEqual([
        expect.objectContaining({ ...entry, ...caller, result: 'allow', reason: 'allowed' }),
        expect.objectContaining({ ...entry, ...ofProvider, result: 'deny', reason, after }),
      ])
    },
  )

  test('of an Admin in another tenant is denied in the audit of that tenant', async () => {
    await service.call({
      method: 'POST',
      path: '/v1/refunds?tenant=visited',
      as: { tenant: 'head-office', role: 'Admin', sub: 'chief' },
      headers: { 'Idempotency-Key': 'k' },
      body: { charge_id: 'ch_declined_3', amount: 1 },
    })
    const results = (await service.items('visited', 'audit')).map(({ actor_id, result }) => [
      actor_id,
      result,
    ])
    expect(results).toEqual([
      ['chief', 'allow'],
      ['payment_provider', 'deny'],
    ])
  })

  test('that an Admin of another tenant asked for is pending work of the tenant that pays', async () => {
    provider.faults = () => ({ when: 'before', how: 'reset' })
    const { status } = await service.call({
      method: 'POST',
      path: '/v1/refunds?tenant=paying',
      as: { tenant: 'ops', role: 'Admin' },
      headers: { 'Idempotency-Key': 'across' },
      body: { charge_id: 'ch_across', amount: 1 },
    })
    expect(status).toBe(503)
    const pending = await pendingEntries(service.table, 'pending-saga', clock.now())
    expect(pending.map(({ tenant }) => tenant)).toContain('paying')
  })

  test('that the provider had executed before returns its result, and is logged', async () => {
    provider.faults = () => ({ when: 'after', how: 'reset' })
    const body = { charge_id: 'ch_7', amount: 10 }
    expect((await refund('again', body, 'k')).status).toBe(503)
    provider.faults = works
    service.notices.length = 0
    const answer = await refund('again', body, 'k', { 'X-Correlation-Id': 'corr-7' })
    expect(answer).toMatchObject({ status: 201, json: { status: 'succeeded' } })
    expect(await refund('again', body, 'k')).toMatchObject({ status: 201, body: answer.body })
    const state = await ledgerOf(service, provider, 'again')
    expectBalanced(state)
    expect(summaryOf(state)).toEqual({ refunds: ['succeeded'], ledger: 1, payouts: 1 })
    expect(writtenOf(service.notices)).toEqual([
      expect.objectContaining({
        level: 'INFO',
        code: 'PROVIDER_REPLAYED',
        operation: 'refunds.create',
        error_code: 'PROVIDER.duplicate',
        message_id: 'error.provider.duplicate',
        correlation_id: 'corr-7',
      }),
    ])
    expect(JSON.stringify(writtenOf(service.notices))).not.toMatch(/ch_7|again|re_|acct_/)
  })

  test('of a tenant without an account at the provider is rejected before anything is stored', async () => {
    const unmapped = await startService({
      settings: settingsAt(provider.endpoint, { accounts: { known: 'acct_1' } }),
    })
    const answer = await unmapped.call({
      method: 'POST',
      path: '/v1/refunds',
      as: { tenant: 'unmapped', role: 'Editor' },
      headers: { 'Idempotency-Key': 'k' },
      body: { charge_id: 'ch_9', amount: 10 },
    })
    expect(outcome(answer)).toBe('409 POLICY.refund.no_account')
    expect(await unmapped.items('unmapped', 'refund')).toEqual([])
  })
})

/** The log lines. */
function writtenOf(notices: readonly LogReport[]): unknown[] {
  const written: string[] = []
  const write = jest
    .spyOn(process.stdout, 'write')
    .mockImplementation((text) => written.push(String(text)) > 0)
  const log = jsonLog('test')
  for (const notice of notices) log.report(notice)
  write.mockRestore()
  return written.map((line) => JSON.parse(line))
}
