import { afterAll, beforeEach, expect, test } from '@jest/globals'
import { startBudget, systemClock } from '#shared/platform/base/clock.ts'
import { reconcile } from '#shared/refunds/reconcile.ts'
import { stripeRecords } from '#shared/refunds/stripe-records.ts'
import { handleEvent } from '#shared/webhooks/handle-event.ts'
import { declaredTable } from '#test/support/declared-table.ts'
import { startPaymentProvider } from '#test/support/payment-provider/payment-provider.ts'
import { startService } from '#test/support/service.ts'
import { profile } from '#test/support/settings.ts'
import { eventOf, signed } from '#test/support/signed-events.ts'
import { uniqueTenant } from '#test/support/unique-tenant.ts'

let tenant: string
const provider = await startPaymentProvider()
const { endpoint } = provider
const service = await startService({
  settings: profile('shared/settings/profiles/local.json', {
    'refunds.provider': { endpoint, attemptMilliseconds: 5000 },
  }),
})
beforeEach(() => {
  tenant = uniqueTenant('reconciled')
})
afterAll(() => provider.stop())

async function refund(charge_id: string): Promise<string> {
  const { json } = await service.call({
    method: 'POST',
    path: '/v1/refunds',
    as: { tenant },
    headers: { 'Idempotency-Key': charge_id },
    body: { charge_id, amount: 700 },
  })
  return json.id
}

/** Changes the status of a refund at the provider, which sends no event. */
function change(id: string, status: 'succeeded' | 'failed'): void {
  const payout = provider.refunds().find(({ metadata }) => metadata.refund_id === id)
  if (!payout) throw new Error(`the provider has no refund ${id}`)
  payout.status = status
}

let reports = 0
/** Receives and handles an event of the provider that occurred a minute from now, each later than the one before. */
async function report(type: string, id: string, tenant_id = tenant): Promise<void> {
  const event = eventOf(type, { id, tenant_id })
  const later = { ...event, occurred_at: new Date(Date.now() + 60_000 + reports++).toISOString() }
  const body = JSON.stringify(later)
  await service.call({ method: 'POST', path: '/v1/webhooks/events', headers: signed(body), body })
  await handleEvent(event.event_id, {
    ...service.runtime,
    table: declaredTable('webhooks.handle', service.table),
  })
}

/** Returns the kind and the refund of each difference, and the sums. */
async function compared() {
  const records = stripeRecords({
    apiKey: 'sk_test',
    endpoint,
    attemptMilliseconds: 5000,
    clock: systemClock,
  })
  const budget = startBudget(systemClock, 60_000)
  const now = Date.now()
  const range = { tenant, account: `acct_${tenant}`, from: now - 3_600_000, to: now + 1000 }
  const found: unknown[] = []
  for await (const { differences, totals } of reconcile(range, {
    table: declaredTable('refunds.reconcile', service.table),
    records,
    budget,
  }))
    found.push(...differences.map(({ finding, refund_id }) => [finding, refund_id]), totals)
  return found
}

const sums = (amount: number, ledger = amount) => [{ currency: 'EUR', provider: amount, ledger }]

test('refunds of the service agree with the provider in every field', async () => {
  await refund('ch_one')
  await refund('ch_pending_1')
  await refund('ch_two')
  expect(await compared()).toEqual([sums(1400)])
})

test('an event of a success after a reversal is not handled', async () => {
  const id = await refund('ch_one')
  await report('refund.failed', id)
  await expect(report('refund.succeeded', id)).rejects.toThrow('a refund succeeded after its reversal')
})

test('an event with another tenant is not handled', async () => {
  const id = await refund('ch_one')
  const reporting = report('refund.failed', id, 'another')
  await expect(reporting).rejects.toMatchObject({ code: 'NOT_FOUND.refund' })
  expect(await compared()).toEqual([sums(700)])
})

test('a payout that the provider takes back differs until its event is handled', async () => {
  const id = await refund('ch_one')
  change(id, 'failed')
  expect(await compared()).toEqual([['not_reversed', id], sums(0, 700)])
  await report('refund.failed', id)
  expect(await compared()).toEqual([sums(0)])
})

test.each([
  ['succeeded', 'refund.succeeded', [sums(700)]],
  ['failed', 'refund.failed', [[]]],
] as const)('a pending refund that %s differs until its event is handled', async (status, event, result) => {
  const id = await refund('ch_pending_1')
  change(id, status)
  expect((await compared())[0]).toEqual(['pending_here', id])
  await report(event, id)
  expect(await compared()).toEqual(result)
})
