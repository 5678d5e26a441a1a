import { beforeEach, describe, expect, test } from '@jest/globals'
import { type LookedUpOutcome, settleByOperator } from '#bin/commands/refunds/settle-refund.ts'
import { purgeTenant } from '#bin/commands/tenants/purge-tenant.ts'
import { endpoint as createRefund } from '#functions/refunds/create-refund/endpoint.ts'
import { newId, timestamp } from '#shared/platform/base/clock.ts'
import { fail } from '#shared/platform/base/failure.ts'
import { noKey } from '#shared/platform/base/secrets.ts'
import { maxPendingSagas } from '#shared/platform/idempotency/backlog.ts'
import { fingerprint, pendingRecord, recordKey } from '#shared/platform/idempotency/idempotency-record.ts'
import { addSagaEntry, firstSagaEntry } from '#shared/platform/idempotency/pending-saga.ts'
import type { Endpoint } from '#shared/platform/request/endpoint.ts'
import { finishSagas, runLimitMilliseconds } from '#shared/platform/request/finish-sagas.ts'
import { entryAt, type Item, keyOf, pendingKeyOf } from '#shared/platform/table/keys.ts'
import { checkRefunds } from '#shared/refunds/check-refunds.ts'
import type { ProviderOutcome, ProviderRequest } from '#shared/refunds/payment-provider.ts'
import { makeRefund, type Refund } from '#shared/refunds/refund.ts'
import { refundSaga } from '#shared/refunds/refund-saga.ts'
import { startWrites } from '#shared/refunds/refund-store.ts'
import { idAt } from '#test/support/ids.ts'
import { type MemoryRuntime, memoryRuntime } from '#test/support/memory-runtime.ts'
import { apply } from './apply.ts'

/** Refunds without an outcome: those that others have left do not delay them, and each can end. */

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const paid: ProviderOutcome = {
  status: 'succeeded',
  providerRefundId: 're_1',
  currency: 'EUR',
  replayed: false,
}
/** The accounts whose owners have ended the access. */
const lost = new Set<string>()

let runtime: MemoryRuntime
let asked: string[]
beforeEach(() => {
  runtime = memoryRuntime()
  asked = []
  lost.clear()
})

const provider = {
  async refund({ account }: ProviderRequest) {
    asked.push(account)
    if (lost.has(account)) throw fail('DEPENDENCY.unavailable', { refusedByTenant: true })
    return paid
  },
  adopt: () => Promise.reject(new Error('no refund is lost')),
  find: (request: ProviderRequest) => provider.refund(request),
}
const endpoint = {
  ...createRefund,
  saga: (context: Parameters<typeof refundSaga>[0]) => refundSaga(context, async () => provider),
} as unknown as Endpoint

/** Leaves a refund as a request that was interrupted before it called the provider. */
async function interrupt(tenant: string): Promise<Refund> {
  const { clock, table, settings } = runtime
  const of = { id: newId(clock), tenant_id: tenant, account: `acct_${tenant}`, request_name: 'request-1' }
  const refund = makeRefund({ charge_id: 'ch_1', amount: 5 }, of)
  const keyed = {
    key: recordKey(tenant, 'u1', 'POST /v1/refunds', refund.id),
    payloadHash: fingerprint(refund),
    firstUsedAt: timestamp(clock.now()),
    expiresAt: Math.floor(clock.now() / 1000) + 86_400,
    tenant,
  }
  const lease = { lease_id: newId(clock), lease_until: 0 }
  const saga = { state: { ...refund }, entry: firstSagaEntry(lease.lease_id) }
  const run = { operation: 'refunds.create', keyed, correlation: { id: 'corr-1', trace: {} } }
  await apply(runtime, { writes: startWrites(refund, settings) })
  await table.transact([
    { item: pendingRecord(keyed, saga, lease), condition: 'none' },
    ...addSagaEntry(run, saga),
  ])
  return refund
}

/** Leaves a refund that the provider accepted, and about which it is asked at a time relative to now. */
async function accept(tenant: string, due: number): Promise<Refund> {
  const id = idAt(runtime.clock.now() - 5 * day)
  const unsettled_entry = entryAt(runtime.clock.now() + due, id)
  const made = makeRefund(
    { charge_id: 'ch_1', amount: 5 },
    { id, tenant_id: tenant, account: `acct_${tenant}`, request_name: 'request-1' },
  )
  const refund: Refund = { ...made, provider_refund_id: 're_1', unsettled_entry }
  for (const item of [
    { ...keyOf(tenant, 'refund', id), ...refund },
    { ...pendingKeyOf('unsettled-refund', unsettled_entry), tenant },
  ])
    await runtime.table.put({ item, condition: 'none' })
  return refund
}

const itemsOf = (entity: string) => runtime.store.all().filter(({ pk }) => pk.startsWith(`${entity}#`))
const stored = (refund: Refund) =>
  itemsOf('refund').find(({ sk }) => sk === refund.id) as (Item & Refund) | undefined
const finish = () => finishSagas([endpoint], runtime)
const check = () => checkRefunds(runtime, async () => provider, runtime.clock.now() + runLimitMilliseconds)
/** Runs the sweep each minute, and each ten minutes of a longer time. @returns how often the provider was asked */
async function sweepFor(milliseconds: number): Promise<number> {
  const { length } = asked
  const step = milliseconds > hour ? 10 * minute : minute
  for (let passed = 0; passed < milliseconds; passed += step) {
    runtime.clock.advance(step)
    await finish()
    await check()
  }
  return asked.length - length
}

describe('refunds in an account whose owner ended the access', () => {
  test('do not delay those of other tenants, whatever their number', async () => {
    lost.add('acct_lost')
    for (let n = 0; n < 5000; n += 1) await interrupt('lost')
    const refund = await interrupt('acme')
    await sweepFor(minute)
    // The ids of 5,000 refunds do not fit into one millisecond.
    await sweepFor(minute)
    expect(stored(refund)?.status).toBe('succeeded')
  })

  test('are tried less and less often, and once in 23 hours after a day', async () => {
    lost.add('acct_lost')
    await interrupt('lost')
    expect(await sweepFor(hour)).toBeLessThan(30)
    expect(await sweepFor(day)).toBeLessThan(40)
    expect(await sweepFor(3 * 23 * hour)).toBe(3)
  })

  test.each([
    ['interrupted', () => interrupt('lost')],
    ['accepted', () => accept('lost', 0)],
  ])('raise an alarm with their tenant once one that was %s is a day old', async (kind, leave) => {
    lost.add('acct_lost')
    await leave()
    if (kind === 'interrupted') {
      await sweepFor(day - hour)
      expect(runtime.alerts).toEqual([])
    }
    await sweepFor(2 * hour)
    expect(runtime.alerts).toEqual([['PROVIDER_ACCOUNT_LOST', { tenant: 'lost' }]])
    await sweepFor(day)
    expect(runtime.alerts).toHaveLength(2)
  })

  test('are no failures of the sweep', async () => {
    lost.add('acct_lost')
    await interrupt('lost')
    runtime.clock.advance(minute)
    expect(await finish()).toEqual({ finished: 0, left: 0, refused: 1, oldest: expect.any(Number) })
  })

  test('are paid within a day once it is connected again', async () => {
    lost.add('acct_lost')
    const refund = await interrupt('lost')
    await sweepFor(3 * day)
    lost.clear()
    await sweepFor(23 * hour)
    expect(stored(refund)?.status).toBe('succeeded')
  })
})

test('refunds raise no alarm of a lost account while the key of the provider is missing, and are paid soon after', async () => {
  const refund = await interrupt('acme')
  runtime.secret = async () => noKey
  for (let hours = 0; hours < 26; hours += 1) {
    runtime.clock.advance(hour)
    await finishSagas([createRefund as unknown as Endpoint], runtime)
  }
  expect(runtime.alerts).toEqual([])
  await sweepFor(hour)
  expect(stored(refund)?.status).toBe('succeeded')
})

test('the saga of a refund that is gone ends', async () => {
  const { tenant_id, id } = await interrupt('acme')
  await runtime.table.transact([{ remove: keyOf(tenant_id, 'refund', id), condition: 'none' }])
  await sweepFor(minute)
  expect([itemsOf('pending-saga'), asked]).toEqual([[], []])
  expect(itemsOf('idempotency')).toMatchObject([{ state: 'complete', status: 500 }])
})

describe('refunds that wait for a bank', () => {
  test('do not hide one that is due, whatever their number', async () => {
    for (let n = 0; n < 20; n += 1) await accept('waits', hour)
    const refund = await accept('acme', 0)
    const { pk } = pendingKeyOf('unsettled-refund', String(refund.unsettled_entry))
    for (let n = 0; n < 3000; n += 1) {
      const sk = entryAt(runtime.clock.now() + 1 + n, idAt(0))
      await runtime.table.put({ item: { pk, sk, tenant: 'waits' }, condition: 'none' })
    }
    await check()
    expect(stored(refund)?.status).toBe('succeeded')
    expect(asked).toEqual(['acct_acme'])
  })

  test('keep the key of their entry when it moves, and lose it when they end', async () => {
    const refund = await accept('acme', 0)
    lost.add('acct_acme')
    await check()
    const entries = itemsOf('unsettled-refund').map(({ sk }) => sk)
    expect(entries).toEqual([entryAt(runtime.clock.now() + 23 * hour, refund.id)])
    expect(stored(refund)).toMatchObject({ unsettled_entry: entries[0] })
    lost.clear()
    runtime.clock.advance(23 * hour)
    await check()
    expect(itemsOf('unsettled-refund')).toEqual([])
    expect(stored(refund)).not.toHaveProperty('unsettled_entry')
  })

  test('lose an entry that is not theirs', async () => {
    const refund = await accept('acme', hour)
    const old = pendingKeyOf('unsettled-refund', entryAt(runtime.clock.now(), refund.id))
    await runtime.table.put({ item: { ...old, tenant: 'acme' }, condition: 'none' })
    await check()
    expect(itemsOf('unsettled-refund').map(({ sk }) => sk)).toEqual([refund.unsettled_entry])
    expect(asked).toEqual([])
  })
})

test('a tenant with too many interrupted refunds is listed, and no other', async () => {
  for (let n = 0; n < maxPendingSagas; n += 1) await interrupt('full')
  for (let n = 0; n < 10; n += 1) await interrupt('acme')
  lost.add('acct_full')
  const listed = () => itemsOf('backlogged-tenants')
  const all = () => runtime.store.all().find(({ pk }) => pk === 'backlogged-tenants')?.tenants
  expect(listed()).toEqual([])
  // Requests may still work on younger ones.
  await finish()
  expect(all()).toBeUndefined()
  await sweepFor(2 * minute)
  expect(all()).toEqual(['full'])
  // They are not due now, and still count.
  await finish()
  expect(all()).toEqual(['full'])
  lost.clear()
  await sweepFor(3 * minute)
  expect(all()).toEqual([])
})

const operator = () => ({ table: runtime.table, clock: runtime.clock, name: 'jane' })
/** Purges a tenant. While it waits, the sweep runs each minute. */
async function purge(tenant: string) {
  const { clock } = runtime
  let next = clock.now() + minute
  const sleep = async (milliseconds: number) => {
    clock.advance(milliseconds)
    if (clock.now() < next) return
    next = clock.now() + minute
    await finish()
  }
  return purgeTenant({ ...operator(), clock: { ...clock, sleep } }, tenant, { withAudit: false })
}

describe('a purge of a tenant with a refund in flight', () => {
  test('waits for it, although it is not due for an hour', async () => {
    lost.add('acct_acme')
    await interrupt('acme')
    await sweepFor(3 * hour)
    lost.clear()
    await purge('acme')
    expect(asked.at(-1)).toBe('acct_acme')
    expect(itemsOf('refund')).toEqual([])
    expect(itemsOf('ledger')).toEqual([])
    expect(itemsOf('pending-saga')).toEqual([])
  })

  test('is refused while the account refuses it, and possible once it is settled', async () => {
    lost.add('acct_acme')
    const refund = await interrupt('acme')
    await sweepFor(3 * day)
    await expect(purge('acme')).rejects.toThrow(
      /^0 imports and 1 refunds of acme do not end: end each refund with `refunds settle`/,
    )
    expect(stored(refund)?.status).toBe('pending')
    expect(itemsOf('pending-saga')).toHaveLength(1)
    await settle(refund, { outcome: 'failed' })
    await purge('acme')
    expect(itemsOf('refund')).toEqual([])
    expect(itemsOf('pending-saga')).toEqual([])
  })
})

const settle = ({ id, tenant_id: tenant }: Refund, finding: LookedUpOutcome) =>
  settleByOperator(operator(), { tenant, id, settings: runtime.settings, ...finding })
const record = () => itemsOf('idempotency')[0]

describe('a refund that an operator settles', () => {
  const payout: LookedUpOutcome = { outcome: 'paid', providerRefundId: 're_9', currency: 'EUR' }

  test('as failed ends so, and its caller gets the error', async () => {
    const refund = await interrupt('acme')
    runtime.clock.advance(minute - 1)
    await settle(refund, { outcome: 'failed' })
    expect(stored(refund)).toMatchObject({ status: 'failed' })
    expect(itemsOf('ledger')).toEqual([])
    expect(itemsOf('audit')).toMatchObject([
      { action: 'refund_failed', actor_id: 'jane', target: `refund/${refund.id}` },
    ])
    await finish()
    expect(record()).toMatchObject({ state: 'complete', status: 409 })
    expect(itemsOf('pending-saga')).toEqual([])
    expect(asked).toEqual([])
  })

  test('as paid is booked', async () => {
    const refund = await interrupt('acme')
    runtime.clock.advance(minute - 1)
    await settle(refund, payout)
    expect(stored(refund)).toMatchObject({ status: 'succeeded', provider_refund_id: 're_9', currency: 'EUR' })
    expect(itemsOf('ledger')).toMatchObject([
      { kind: 'payout', amount: 5, currency: 'EUR', provider_refund_id: 're_9' },
    ])
    expect(itemsOf('audit')).toMatchObject([{ action: 'refund_succeeded', actor_id: 'jane' }])
    await finish()
    expect(record()).toMatchObject({ state: 'complete', status: 201 })
  })

  test('leaves the pauses of others as they are', async () => {
    lost.add('acct_acme')
    const refund = await interrupt('acme')
    const other = await interrupt('acme')
    await sweepFor(hour)
    const before = itemsOf('pending-saga').map(({ sk }) => sk)
    await settle(refund, payout)
    const after = itemsOf('pending-saga').map(({ sk }) => sk)
    expect(after.filter((sk) => before.includes(sk))).toHaveLength(1)
    await finish()
    expect([stored(refund)?.status, stored(other)?.status]).toEqual(['succeeded', 'pending'])
  })

  test('is not asked about any more if the provider had accepted it', async () => {
    const refund = await accept('acme', hour)
    await settle(refund, { outcome: 'failed', providerRefundId: String(stored(refund)?.provider_refund_id) })
    expect(itemsOf('unsettled-refund')).toEqual([])
  })

  test.each<[string, LookedUpOutcome, string]>([
    ['as failed, without its id at the provider', { outcome: 'failed' }, 'has accepted'],
    ['as paid, with another id', { ...payout, providerRefundId: 're_other' }, 'another payout'],
  ])('is refused if the provider had accepted it: %s', async (_, finding, reason) => {
    const refund = await accept('acme', hour)
    await expect(settle(refund, finding)).rejects.toThrow(reason)
    expect(stored(refund)?.status).toBe('pending')
  })

  test('is refused with the payout of another refund', async () => {
    const [one, other] = [await interrupt('acme'), await interrupt('acme')]
    await settle(one, payout)
    await expect(settle(other, payout)).rejects.toThrow(one.id)
    expect(itemsOf('ledger')).toHaveLength(1)
  })

  test.each(['failed', 'succeeded'] as const)('and has %s meanwhile is not changed', async (status) => {
    const refund = await interrupt('acme')
    const item = stored(refund) as Item
    await runtime.table.put({ item: { ...item, status, version: 2 }, condition: 'none' })
    await expect(settle(refund, { outcome: 'failed' })).rejects.toThrow(`it is ${status}`)
  })

  test('is refused if an event settles it at the same moment', async () => {
    const refund = await interrupt('acme')
    runtime.beforeCall = ({ name }) => {
      if (name !== 'transact') return
      runtime.beforeCall = () => {}
      return runtime.table.put({
        item: { ...(stored(refund) as Item), status: 'succeeded', version: 2 },
        condition: 'none',
      })
    }
    await expect(settle(refund, { outcome: 'failed' })).rejects.toThrow('it is succeeded')
    expect(itemsOf('audit')).toEqual([])
  })

  test('of another tenant is unknown', async () => {
    const refund = await interrupt('acme')
    const other = { ...refund, tenant_id: 'other' }
    await expect(settle(other, { outcome: 'failed' })).rejects.toThrow('the tenant has no such refund')
  })
})
