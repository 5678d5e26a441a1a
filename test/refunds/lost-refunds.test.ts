import { afterAll, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { adoptPayouts, missingPayouts } from '#bin/commands/refunds/adopt-payouts.ts'
import { endpoint } from '#functions/refunds/create-refund/endpoint.ts'
import { startBudget, timestamp } from '#shared/platform/base/clock.ts'
import { fingerprint, recordKey } from '#shared/platform/idempotency/idempotency-record.ts'
import { type Outcome, runOnce } from '#shared/platform/idempotency/run-once.ts'
import { openWork, type RequestContext } from '#shared/platform/request/context.ts'
import type { Endpoint } from '#shared/platform/request/endpoint.ts'
import { recordExpiry, runOf } from '#shared/platform/request/execution.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import { restoredKey } from '#shared/platform/table/restored.ts'
import { stripeRefunds } from '#shared/refunds/list-stripe-refunds.ts'
import type { PaymentProvider } from '#shared/refunds/payment-provider.ts'
import { claimKey, claimPayout } from '#shared/refunds/payout-claim.ts'
import { makeRefund, type Refund } from '#shared/refunds/refund.ts'
import { refundSaga } from '#shared/refunds/refund-saga.ts'
import { startWrites } from '#shared/refunds/refund-store.ts'
import { settleRefund } from '#shared/refunds/settle-refund.ts'
import { stripeProvider } from '#shared/refunds/stripe-provider.ts'
import type { Settings } from '#shared/settings/register.ts'
import { memoryRuntime } from '#test/support/memory-runtime.ts'
import { apply } from './apply.ts'
import { answered, apiKey, error, fakeProvider } from './stripe-requests.ts'

const tenant = 'acme'
const caller = { sub: 'caller', tenant, role: 'Editor' as const, scopes: new Set<string>(), claims: {} }
const hours = (count: number) => count * 3_600_000

let runtime: ReturnType<typeof memoryRuntime>
let charge: string
let charges = 0
/** The number of calls until the process dies, and whether it dies before or after the effect of the last one. */
let death: { left: number; when: 'before' | 'after' } | undefined

beforeEach(() => useSettings())
afterAll(() => fakeProvider.stop())

function useSettings(changes: Partial<Settings> = {}) {
  charges += 1
  charge = `ch_lost_${charges}`
  death = undefined
  fakeProvider.faults = () => undefined
  runtime = { ...memoryRuntime(changes), secret: async () => apiKey }
  runtime.beforeCall = () => live('before')
  runtime.afterCall = () => live('after')
  jest.setSystemTime(runtime.clock.now())
}

/** Ends the process at the call at which it dies, and at all that follow. */
function live(when: 'before' | 'after'): void {
  if (!death) return
  if (when === 'before') death.left -= 1
  if (death.left < 0 || (death.left === 0 && death.when === when)) throw new Error('the process died')
}

function advance(milliseconds: number): void {
  runtime.clock.advance(milliseconds)
  jest.setSystemTime(runtime.clock.now())
}

/** The provider of the process, whose calls are places at which it may die, too. */
function mortal(provider: PaymentProvider): PaymentProvider {
  const step = async <Result>(call: () => Promise<Result>) => {
    live('before')
    const result = await call()
    live('after')
    return result
  }
  return {
    refund: (...asked) => step(() => provider.refund(...asked)),
    adopt: (...asked) => step(() => provider.adopt(...asked)),
    find: (...asked) => step(() => provider.find(...asked)),
  }
}

interface Asked {
  amount?: number
  charge_id?: string
  key?: string
}

/** Sends a refund as a caller does, with its key. */
async function send({
  amount = 700,
  charge_id = charge,
  key = `key-${charges}`,
}: Asked = {}): Promise<Outcome> {
  const { clock } = runtime
  const correlation = { id: 'corr-1', trace: {} }
  const work = { operation: 'refunds.create', correlation, milliseconds: 60_000 }
  const record = recordKey(tenant, 'u1', 'POST /v1/refunds', key)
  const context = { ...openWork(runtime, work), caller }
  const ofRequest = {
    ...context,
    scope: { tenant, allTenants: false },
    recordKey: record,
  } as unknown as RequestContext
  const body = { amount, charge_id }
  const { endpoint: address } = fakeProvider
  const provider = stripeProvider({ apiKey, endpoint: address, attemptMilliseconds: 2000, clock })
  const saga = (of: typeof context) => refundSaga(of, async () => mortal(provider))
  const run = runOf({ ...endpoint, saga } as unknown as Endpoint, context, async () =>
    endpoint.decide({ body } as never, ofRequest),
  )
  const firstUsedAt = timestamp(context.now())
  const payload = { payloadHash: fingerprint(body), firstUsedAt, expiresAt: recordExpiry(context), tenant }
  return runOnce({ ...run, keyed: { key: record, ...payload } })
}

async function paid(asked?: Asked): Promise<string> {
  const { response } = await send(asked)
  expect(response).toMatchObject({ status: 201 })
  return JSON.parse(String(response.body)).id
}

/** The table goes back to a time before all refunds. */
function loseAll({
  marked = false,
  keys = 'known',
}: {
  marked?: boolean
  keys?: 'known' | 'forgotten'
} = {}) {
  const { store, clock } = runtime
  store.takeBack(store.all().map((after) => ({ sequence: 0, before: undefined, after })))
  if (marked) store.put({ item: { ...restoredKey, at: clock.now() }, condition: 'none' })
  if (keys === 'forgotten') fakeProvider.forgetKeys()
}

const payouts = () => fakeProvider.refunds().filter((one) => one.charge.startsWith(charge))
const itemsOf = (entity: string) => runtime.store.all().filter(({ pk }) => pk.startsWith(`${entity}#`))
const refunds = () => itemsOf('refund') as (Item & Refund)[]

/** The books have one refund, of the one payout. */
function expectOneRefund(id: string) {
  const [payout, ...others] = payouts()
  expect(others).toEqual([])
  const succeeded = refunds().filter(({ status }) => status === 'succeeded')
  expect(succeeded).toMatchObject([{ id, provider_refund_id: payout?.id }])
  expect(itemsOf('ledger')).toMatchObject([{ refund_id: id, provider_refund_id: payout?.id }])
  expect(payout?.metadata).toMatchObject({ refund_id: id, tenant_id: tenant })
}

const ways = [
  ['whose key the provider refuses', {}],
  ['of a marked table, whose key the provider refuses', { marked: true }],
  ['of a marked table, whose key the provider has forgotten', { marked: true, keys: 'forgotten' }],
] as const

describe.each(ways)('a refund that the table has lost, %s', (_, how) => {
  test('is paid once: its retry adopts the payout, and names it after the new refund', async () => {
    const lost = await paid()
    loseAll(how)
    advance(hours(2))
    const id = await paid()
    expect(id).not.toBe(lost)
    expectOneRefund(id)
    const claim = await runtime.table.get(claimKey('acct_acme', String(payouts()[0]?.id)))
    expect(claim).toMatchObject({ tenant, refund_id: id })
    expect(runtime.reports).toMatchObject([{ code: 'PROVIDER_REPLAYED' }])
    expect(await paid()).toBe(id)
  })

  test.each(['before', 'after'] as const)(
    'is paid once, wherever the process of the retry dies: %s the effect of a call',
    async (when) => {
      for (let calls = 1; ; calls += 1) {
        useSettings()
        await paid()
        loseAll(how)
        const started: typeof death = { left: calls, when }
        death = started
        await send().catch(() => undefined)
        death = undefined
        advance(60_000)
        expectOneRefund(await paid())
        if (started.left > 0) break
        expect(calls).toBeLessThan(50)
      }
    },
  )

  test('is paid once if its retries are sent at the same time', async () => {
    await paid()
    loseAll(how)
    const [one, other] = await Promise.all([paid(), paid()])
    expect(other).toBe(one)
    expectOneRefund(one)
  })

  test('has the outcome that the payout has by now', async () => {
    await paid()
    const [payout] = payouts()
    Object.assign(payout ?? {}, { status: 'failed' })
    loseAll(how)
    expect((await send()).response).toMatchObject({ status: 409 })
    expect(refunds()).toMatchObject([{ status: 'failed', provider_refund_id: payout?.id }])
    expect(payouts()).toHaveLength(1)
  })

  test('is refused with another amount', async () => {
    await paid()
    loseAll(how)
    const { response, failure } = await send({ amount: 701 })
    expect(response.status).toBe(409)
    expect(failure).toMatchObject({ code: 'CONFLICT.idempotency.payload_mismatch' })
    expect(payouts()).toHaveLength(1)
    expect(refunds()).toMatchObject([{ status: 'failed' }])
    expect(itemsOf('audit')).toContainEqual(
      expect.objectContaining({ result: 'deny', reason: 'CONFLICT.idempotency.payload_mismatch' }),
    )
    expect((await send({ amount: 701 })).response).toEqual(response)
  })

  test('is another request once the lifetime of a key is over, and is paid by its own key', async () => {
    await paid()
    loseAll({ ...how, keys: 'known' })
    advance(hours(24) + 1000)
    const id = await paid()
    expect(payouts()).toHaveLength(2)
    expect(payouts()[1]?.metadata).toMatchObject({ refund_id: id })
    expect(refunds()).toMatchObject([{ id, status: 'succeeded', uses_own_key: true }])
    expect(fakeProvider.calls.at(-1)).toMatchObject({ key: `refund-${id}` })
  })

  test('is its own request up to that time', async () => {
    await paid()
    loseAll(how)
    advance(hours(24) - 1)
    expectOneRefund(await paid())
  })

  test('that a command has booked already is the answer', async () => {
    await paid()
    const [payout] = payouts()
    loseAll(how)
    const booked = await book(String(payout?.id))
    expect(await paid()).toBe(booked.id)
    expectOneRefund(booked.id)
    expect(refunds().filter(({ status }) => status === 'failed')).toHaveLength(1)
  })

  test('that a command has booked and not yet named is the answer, too', async () => {
    await paid()
    const [payout] = payouts()
    loseAll(how)
    const booked = await book(String(payout?.id), { isNamed: false })
    expect(await paid()).toBe(booked.id)
    expect(payouts()).toHaveLength(1)
    expect(itemsOf('ledger')).toHaveLength(1)
  })

  test('that a report settles during the search has that outcome', async () => {
    await paid()
    const [payout] = payouts()
    loseAll(how)
    fakeProvider.faults = ({ method }) => {
      const [refund] = refunds()
      const settled = { ...refund, status: 'succeeded', provider_refund_id: payout?.id, currency: 'EUR' }
      if (method === 'GET' && refund?.status === 'pending')
        runtime.store.put({ item: settled as never, condition: 'none' })
      return undefined
    }
    expect(await paid()).toBe(refunds()[0]?.id)
    expect(payouts()).toHaveLength(1)
    expect(itemsOf('payout')).toEqual([])
  })

  test('waits for the command that has claimed the payout', async () => {
    await paid()
    const [payout] = payouts()
    loseAll(how)
    await runtime.table.put(claimPayout('acct_acme', String(payout?.id), { tenant, refund_id: 'absent' }))
    await expect(send()).rejects.toMatchObject({ code: 'TRANSIENT.error' })
    expect(payouts()).toHaveLength(1)
    expect(refunds()).toMatchObject([{ status: 'pending' }])
  })
})

/** Books a payout as a refund, as the command does. */
async function book(providerRefundId: string, { isNamed = true } = {}): Promise<Refund> {
  const { settings, table, clock } = runtime
  const of = {
    id: openWork(runtime, { operation: 'x', correlation: { id: 'x', trace: {} }, milliseconds: 1 }).newId(),
  }
  const [old] = payouts()
  const request_name = String(old?.metadata.request)
  const refund = makeRefund(
    { charge_id: charge, amount: 700 },
    { ...of, tenant_id: tenant, account: 'acct_acme', request_name },
  )
  await apply(runtime, { writes: startWrites(refund, settings) })
  await table.put(claimPayout('acct_acme', providerRefundId, { tenant, refund_id: refund.id }))
  const at = refund.created_at
  const report = { status: 'succeeded' as const, at, provider_refund_id: providerRefundId, currency: 'EUR' }
  if (isNamed) Object.assign(old?.metadata ?? {}, { refund_id: refund.id })
  const settled = await settleRefund(refund, report, { table, settings, now: clock.now(), alert: () => {} })
  await apply(runtime, settled.effects)
  return settled.refund
}

/** Adopts all payouts that the table has lost. */
async function adoptLost(): Promise<void> {
  const { settings, table, clock } = runtime
  const { endpoint: address } = fakeProvider
  const providerRefunds = stripeRefunds({ apiKey, endpoint: address, attemptMilliseconds: 2000, clock })
  const operator = { table, clock, name: 'jane' }
  const adopting = { operator, providerRefunds, budget: startBudget(clock, hours(1)), settings }
  const range = { tenant, accounts: ['acct_acme'], from: clock.now() - hours(1), to: clock.now() + 1000 }
  for await (const _ of adoptPayouts(tenant, await missingPayouts(range, adopting), adopting));
}

test('a refund of a charge that may be refunded once is answered with the one that a command has booked', async () => {
  useSettings({ 'refunds.policy': 'once_per_charge' })
  await paid()
  const [payout] = payouts()
  loseAll({ marked: true })
  const booked = await book(String(payout?.id))
  expect(await paid()).toBe(booked.id)
  await expect(send({ key: 'other' })).rejects.toMatchObject({ code: 'POLICY.refund.repeated' })
  expectOneRefund(booked.id)
})

test('a refund that a command has booked as pending is the answer, too, although another one has locked the charge', async () => {
  useSettings({ 'refunds.policy': 'once_per_charge' })
  charge = `ch_pending_${charge}`
  const lost = await paid()
  loseAll({ marked: true })
  fakeProvider.faults = () => answered(error(503, {}))
  await expect(send({ key: 'other' })).rejects.toMatchObject({ code: 'DEPENDENCY.unavailable' })
  fakeProvider.faults = () => undefined
  await adoptLost()
  expect(await paid()).toBe(lost)
})

describe('a charge that may be refunded once', () => {
  beforeEach(() => useSettings({ 'refunds.policy': 'once_per_charge' }))

  test('refuses a key that has expired, also after a restore', async () => {
    await paid()
    advance(hours(24) + 1)
    runtime.store.put({ item: { ...restoredKey, at: runtime.clock.now() }, condition: 'none' })
    await expect(send()).rejects.toMatchObject({ code: 'POLICY.refund.repeated' })
  })

  test('is locked by the refund that adopts a lost payout', async () => {
    await paid()
    loseAll({ marked: true })
    await paid()
    await expect(send({ key: 'other' })).rejects.toMatchObject({ code: 'POLICY.refund.repeated' })
  })

  test('stays locked by a refund that Stripe has accepted, whatever Stripe refuses later', async () => {
    charge = `ch_pending_${charge}`
    for (let left = 1; payouts().length === 0; left += 1) {
      death = { left, when: 'after' }
      await send().catch(() => undefined)
      death = undefined
    }
    const { settings, table, clock } = runtime
    const report = {
      ...{ status: 'pending' as const, at: timestamp(clock.now()), currency: 'EUR' },
      provider_refund_id: payouts()[0]?.id ?? '',
    }
    const context = { table, settings, now: clock.now(), alert: () => {} }
    await apply(runtime, (await settleRefund(refunds()[0] as Refund, report, context)).effects)
    for (const age of [hours(1), hours(20)]) {
      advance(age)
      fakeProvider.faults = () => answered(error(404, { code: 'resource_missing' }))
      await expect(send()).rejects.toMatchObject({ code: 'DEPENDENCY.unavailable' })
      fakeProvider.faults = () => undefined
      await expect(send({ key: 'other' })).rejects.toMatchObject({ code: 'POLICY.refund.repeated' })
    }
    expect(payouts()).toHaveLength(1)
  })

  test('is free again once its refund is reversed', async () => {
    const id = await paid()
    const { settings, table, clock } = runtime
    const refund = refunds()[0] as Refund
    expect(refund.id).toBe(id)
    const report = { status: 'failed' as const, at: timestamp(clock.now() + 1) }
    const context = { table, settings, now: clock.now(), alert: () => {} }
    await apply(runtime, (await settleRefund(refund, report, context)).effects)
    await paid({ key: 'other' })
    expect(payouts()).toHaveLength(2)
  })
})

test('a day after a restore, no payouts are searched', async () => {
  await paid()
  loseAll({ marked: true, keys: 'forgotten' })
  const start = fakeProvider.calls.length
  advance(hours(24) - 1)
  await paid({ key: 'before' })
  expect(fakeProvider.calls.slice(start)).toMatchObject([{ method: 'GET' }, { method: 'POST' }])
  advance(1)
  await paid({ key: 'after' })
  expect(fakeProvider.calls.slice(start + 2)).toMatchObject([{ method: 'POST' }])
})

test('a request for another charge is refused if the provider knows the key of a lost refund', async () => {
  await paid()
  loseAll({ marked: true })
  const { failure } = await send({ charge_id: `${charge}_other` })
  expect(failure).toMatchObject({ code: 'CONFLICT.idempotency.payload_mismatch' })
  expect(payouts()).toHaveLength(1)
})

describe('a lost refund that the provider had declined', () => {
  test('is requested again, by its own key', async () => {
    charge = `ch_declined_${charge}`
    expect((await send()).response.status).toBe(409)
    loseAll()
    expect((await send()).response.status).toBe(409)
    const [refund] = refunds()
    expect(refund).toMatchObject({ status: 'failed', uses_own_key: true })
    expect(fakeProvider.calls.at(-1)).toMatchObject({ key: `refund-${refund?.id}` })
  })

  test('has recorded its own key before the request', async () => {
    charge = `ch_declined_${charge}`
    await send()
    loseAll()
    fakeProvider.faults = ({ key }) => {
      if (key?.startsWith('refund-')) expect(refunds()).toMatchObject([{ uses_own_key: true }])
      return undefined
    }
    expect((await send()).response.status).toBe(409)
  })
})

test('a payout that was old at the time of the restore is of another request', async () => {
  await paid()
  advance(hours(10))
  loseAll({ marked: true, keys: 'forgotten' })
  advance(hours(15))
  const id = await paid()
  expect(payouts().map(({ metadata }) => metadata.refund_id)).toContain(id)
  expect(payouts()).toHaveLength(2)
  expect(refunds()).toMatchObject([{ id, status: 'succeeded', uses_own_key: true }])
})

test('a refund of which only the idempotency record is lost is the answer', async () => {
  const id = await paid()
  const { store } = runtime
  const records = store.all().filter(({ pk }) => pk.startsWith('idempotency#'))
  store.takeBack(records.map((after) => ({ sequence: 0, before: undefined, after })))
  expect(await paid()).toBe(id)
  expectOneRefund(id)
})

test('a key that has expired is another request, although the provider still knows it', async () => {
  const first = await paid()
  advance(hours(25))
  const second = await paid()
  expect(second).not.toBe(first)
  expect(payouts().map(({ metadata }) => metadata.refund_id)).toEqual([first, second])
  expect(itemsOf('ledger')).toHaveLength(2)
})

test('requests with different keys of a caller are different refunds', async () => {
  const [one, other] = [await paid(), await paid({ key: 'other' })]
  expect(other).not.toBe(one)
  expect(payouts()).toHaveLength(2)
})

test.each([
  ['amount', { amount: 100 }],
  ['charge', { charge_id: 'ch_other' }],
])(
  'a request of another %s is refused after a command has booked the payout of its key',
  async (what, asked) => {
    useSettings({ 'refunds.policy': 'once_per_charge' })
    await paid()
    const [payout] = payouts()
    loseAll({ marked: true })
    await book(String(payout?.id))
    const refused = { code: 'CONFLICT.idempotency.payload_mismatch' }
    if (what === 'amount') await expect(send(asked)).rejects.toMatchObject(refused)
    else expect((await send(asked)).failure).toMatchObject(refused)
    expect(payouts()).toHaveLength(1)
  },
)

test('a key that has expired is new for a charge that does not exist', async () => {
  await paid()
  advance(hours(24) + 1000)
  const missing = error(404, { code: 'resource_missing' })
  fakeProvider.faults = ({ method }) => (method === 'GET' ? answered(missing) : undefined)
  const { failure } = await send({ charge_id: 'none' })
  expect(failure).toMatchObject({ code: 'NOT_FOUND.charge' })
})
