import { beforeEach, describe, expect, test } from '@jest/globals'
import { adoptPayouts, missingPayouts } from '#bin/commands/refunds/adopt-payouts.ts'
import { rangeOf } from '#bin/commands/refunds/refunds.ts'
import { newId, startBudget } from '#shared/platform/base/clock.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import { claimPayout } from '#shared/refunds/payout-claim.ts'
import type { ProviderRefund, ProviderRefunds } from '#shared/refunds/provider-refunds.ts'
import { reconcile } from '#shared/refunds/reconcile.ts'
import { makeRefund, type Refund } from '#shared/refunds/refund.ts'
import type { ProviderReport } from '#shared/refunds/refund-states.ts'
import { findRefund, startWrites } from '#shared/refunds/refund-store.ts'
import { settleRefund } from '#shared/refunds/settle-refund.ts'
import { apply } from '#test/refunds/apply.ts'
import { eventsOf } from '#test/support/item-events.ts'
import { type MemoryRuntime, memoryRuntime } from '#test/support/memory-runtime.ts'
import { localSettings } from '#test/support/settings.ts'

const tenant = 'acme'
const account = 'acct_acme'
const minute = 60_000

let runtime: MemoryRuntime
let payouts: ProviderRefund[]
/** The payouts of the account that the tenant had before. */
let former: Set<ProviderRefund>
/** Called before the provider is asked about one payout. */
let beforeFind: () => unknown

beforeEach(() => {
  runtime = memoryRuntime()
  payouts = []
  former = new Set()
  beforeFind = () => {}
})

const accountOf = (payout: ProviderRefund) => (former.has(payout) ? 'acct_former' : account)
const providerRefunds: ProviderRefunds = {
  async *list({ account: asked, from, to }) {
    const listed = payouts.filter((payout) => {
      const { createdAt } = payout
      return accountOf(payout) === asked && createdAt >= from && createdAt < to
    })
    yield* listed.toSorted((a, b) => b.createdAt - a.createdAt)
  },
  async find({ account: asked, id }) {
    await beforeFind()
    return payouts.find((payout) => accountOf(payout) === asked && payout.id === id)
  },
}

/** Returns a refund of the tenant that is stored nowhere. */
function newRefund(changes: Partial<Refund> = {}): Refund {
  runtime.clock.advance(1000)
  const of = { id: newId(runtime.clock, 64), tenant_id: tenant, account, request_name: 'request-1' }
  return { ...makeRefund({ charge_id: 'ch_1', amount: 700 }, of), ...changes }
}

/** Pays a refund at the provider only. */
function pay(refund = newRefund(), changes: Partial<ProviderRefund> = {}): ProviderRefund {
  const { id: refundId, charge_id: chargeId, amount, request_name: requestName } = refund
  const payout: ProviderRefund = {
    id: `re_${payouts.length}`,
    ...{ refundId, tenant, requestName, chargeId, amount, currency: 'EUR', status: 'succeeded' },
    createdAt: Math.floor(runtime.clock.now() / 1000) * 1000,
    ...changes,
  }
  payouts.push(payout)
  return payout
}

/** Stores a refund after a report of the provider. */
async function store(refund: Refund, report?: ProviderReport): Promise<void> {
  const { table, settings, clock } = runtime
  await apply(runtime, { writes: startWrites(refund, settings) })
  const context = { table, settings, now: clock.now(), alert: () => {} }
  if (report) await apply(runtime, (await settleRefund(refund, report, context)).effects)
}

async function allOf<T>(values: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const value of values) all.push(value)
  return all
}

function opened() {
  const { table, clock, settings } = runtime
  const budget = startBudget(clock, 60 * minute)
  const now = clock.now() + minute
  return {
    range: { tenant, account, accounts: [account, 'acct_former'], from: now - 60 * minute, to: now },
    adopting: { operator: { table, clock, name: 'jane' }, providerRefunds, budget, settings },
    sources: { table, providerRefunds, budget },
  }
}
async function adopt() {
  const { range, adopting } = opened()
  return allOf(adoptPayouts(tenant, await missingPayouts(range, adopting), adopting))
}
async function differences() {
  const { range, sources } = opened()
  const parts = await allOf(reconcile(range, sources))
  return parts.flatMap((part) => part.differences.map(({ finding }) => finding))
}
const itemsOf = (kind: string) => runtime.store.all().filter(({ pk }) => pk.startsWith(`${kind}#`))
const ledger = () =>
  itemsOf('ledger').map(({ kind, refund_id, amount, currency, provider_refund_id }) => ({
    ...{ kind, refund_id, amount, currency, provider_refund_id },
  }))

describe('a payout of a refund that is gone', () => {
  let refund: Refund
  let payout: ProviderRefund
  let adopted: object[]
  beforeEach(async () => {
    refund = newRefund()
    payout = pay(refund)
    expect(await differences()).toEqual(['not_in_ledger'])
    adopted = await adopt()
  })

  test('is printed', () => {
    const { id: refund_id, charge_id, created_at, amount } = refund
    const booked = { status: 'succeeded', amount, currency: 'EUR' }
    const printed = { refund_id, provider_refund_id: payout.id, charge_id, created_at, ...booked }
    expect(adopted).toEqual([{ finding: 'adopted', ...printed }])
  })

  test('becomes a refund with the id that the provider has, of the time of that id', async () => {
    expect(await findRefund(runtime.table, tenant, refund.id)).toMatchObject({
      ...{ id: refund.id, tenant_id: tenant, account, charge_id: 'ch_1', amount: 700, currency: 'EUR' },
      ...{ status: 'succeeded', created_at: refund.created_at, provider_refund_id: payout.id },
      // By it, a caller that repeats the request gets this refund.
      request_name: refund.request_name,
    })
  })

  test('is in the ledger, so nothing differs', async () => {
    const facts = { amount: 700, currency: 'EUR', provider_refund_id: payout.id }
    expect(ledger()).toEqual([{ kind: 'payout', refund_id: refund.id, ...facts }])
    expect(await differences()).toEqual([])
  })

  test('publishes its event', () => {
    const events = itemsOf('refund').flatMap(eventsOf)
    expect(events).toMatchObject([{ type: 'refund.succeeded', data: { id: refund.id, tenant_id: tenant } }])
  })

  test('is audited with the operator', () => {
    expect(itemsOf('audit')).toMatchObject([
      { actor_id: 'jane', action: 'refund.adopt', target: `refund/${refund.id}`, tenant_id: tenant },
    ])
  })

  test('is claimed', () => {
    expect(itemsOf('payout')).toEqual([
      { pk: `payout#${account}#${payout.id}`, sk: 'claim', tenant, refund_id: refund.id },
    ])
  })

  test('is not adopted again', async () => {
    const before = runtime.store.all()
    expect(await adopt()).toEqual([])
    expect(runtime.store.all()).toEqual(before)
  })

  test('can be taken back later', async () => {
    runtime.clock.advance(minute)
    const stored = (await findRefund(runtime.table, tenant, refund.id)) as Refund
    const at = new Date(runtime.clock.now()).toISOString()
    const context = { ...runtime, now: runtime.clock.now(), alert: () => {} }
    await apply(runtime, (await settleRefund(stored, { status: 'failed', at }, context)).effects)
    expect(ledger().map(({ kind }) => kind)).toEqual(['payout', 'reversal'])
  })
})

test('payouts are adopted oldest first', async () => {
  const ids = [pay(), pay(), pay()].map(({ refundId }) => refundId)
  expect((await adopt()).map(({ refund_id }) => refund_id)).toEqual(ids)
})

test('a payout in the account that the tenant had before is booked there', async () => {
  const refund = newRefund()
  former.add(pay(refund))
  await adopt()
  expect(await findRefund(runtime.table, tenant, refund.id)).toMatchObject({ account: 'acct_former' })
  expect(ledger()).toMatchObject([{ refund_id: refund.id }])
})

test('a payout is adopted although the clock of the provider is behind the start of the range', async () => {
  const { id: refundId } = newRefund()
  const payout = pay(newRefund({ id: refundId }), { createdAt: opened().range.from - 5000 })
  expect(await adopt()).toMatchObject([{ refund_id: refundId, provider_refund_id: payout.id }])
})

test('a payout that is pending becomes a refund about which the provider is asked', async () => {
  const refund = newRefund()
  pay(refund, { status: 'pending' })
  expect(await adopt()).toMatchObject([{ status: 'pending' }])
  expect(await findRefund(runtime.table, tenant, refund.id)).toMatchObject({ status: 'pending' })
  expect(ledger()).toEqual([])
  expect(itemsOf('unsettled-refund')).toMatchObject([{ tenant }])
  expect(await adopt()).toEqual([])
})

test('one refund for each charge: an adopted refund locks its charge', async () => {
  runtime = memoryRuntime({ 'refunds.policy': 'once_per_charge' })
  const refund = newRefund()
  pay(refund)
  await adopt()
  expect(itemsOf('charge_lock')).toMatchObject([{ refund_id: refund.id }])
  const second = startWrites(newRefund(), runtime.settings)
  await expect(apply(runtime, { writes: second })).rejects.toThrow('POLICY.refund.repeated')
})

describe('a refund here that lacks its payout', () => {
  test('is paid if it was interrupted', async () => {
    const refund = newRefund()
    await store(refund)
    const payout = pay(refund)
    expect(await adopt()).toMatchObject([{ refund_id: refund.id, status: 'succeeded' }])
    expect(ledger()).toMatchObject([{ refund_id: refund.id, provider_refund_id: payout.id }])
    expect(itemsOf('audit')).toMatchObject([{ actor_id: 'jane', before: { status: 'pending' } }])
    expect(await differences()).toEqual([])
  })

  test('is paid if the provider had declined it', async () => {
    const refund = newRefund()
    await store(refund, { status: 'failed', reason: 'POLICY.refund.declined' })
    pay(refund)
    expect(await adopt()).toMatchObject([{ refund_id: refund.id, status: 'succeeded' }])
    expect(await differences()).toEqual([])
  })

  test.each([{ amount: 701 }, { charge_id: 'ch_2' }, { account: 'acct_other' }])(
    'stays as it is if the payout is of another one: %j',
    async (change) => {
      const refund = newRefund()
      await store({ ...refund, ...change })
      pay(refund)
      expect(await adopt()).toEqual([])
      expect(ledger()).toEqual([])
    },
  )
})

describe('a payout is not adopted', () => {
  const nothing = async () => {
    const before = runtime.store.all()
    expect(await adopt()).toEqual([])
    expect(runtime.store.all()).toEqual(before)
  }
  const paid = ({ id }: ProviderRefund): ProviderReport => {
    const at = new Date(runtime.clock.now()).toISOString()
    return { status: 'succeeded', at, provider_refund_id: id, currency: 'EUR' }
  }

  test('that failed', async () => {
    pay(newRefund(), { status: 'failed' })
    await nothing()
  })

  test('that fails before it is booked', async () => {
    const payout = pay()
    beforeFind = () => {
      payout.status = 'failed'
    }
    await nothing()
  })

  test.each([
    ['of another tenant', { tenant: 'other' }],
    ['without a tenant', { tenant: undefined }],
    ['without the name of a request', { requestName: undefined }],
    ['that the service did not request', { refundId: undefined }],
    ['of another program', { refundId: 'order-1' }],
    ['with an id of the future', { refundId: 'ffffffff-ffff-8000-8000-000000000000' }],
  ])('%s', async (_, changes) => {
    pay(newRefund(), changes)
    await nothing()
  })

  test('that a refund here has', async () => {
    const refund = newRefund()
    await store(refund, paid(pay(refund)))
    await nothing()
  })

  test('that a refund here has and has not settled', async () => {
    const refund = newRefund()
    await store(refund, { ...paid(pay(refund)), status: 'pending' })
    await nothing()
  })

  test('that a refund here has under another id: its metadata was edited', async () => {
    const refund = newRefund()
    await store(refund, paid(pay(refund, { refundId: newRefund().id })))
    await nothing()
  })

  test('that is a second one for a refund here, and differs', async () => {
    const refund = newRefund()
    await store(refund, paid(pay(refund)))
    pay(refund)
    await nothing()
    expect(await differences()).toEqual(['paid_twice'])
  })

  test('that a refund here has claimed', async () => {
    const { id } = pay()
    await runtime.table.put(claimPayout(account, id, { tenant, refund_id: newRefund().id }))
    await nothing()
  })
})

describe('a caller that repeats its request meanwhile', () => {
  /** Commits what a retry does that meets the earlier payout: its refund and the claim. */
  async function retry(payout: ProviderRefund): Promise<Item | undefined> {
    const refund = newRefund({ status: 'succeeded', provider_refund_id: payout.id, currency: 'EUR' })
    const claim = claimPayout(account, payout.id, { tenant, refund_id: refund.id })
    return runtime.table
      .transact([...startWrites(refund, runtime.settings), claim])
      .then((refusal) => refusal?.existing)
  }
  const adoptedRefunds = () => itemsOf('refund').map(({ provider_refund_id }) => provider_refund_id)

  test('is first: the command books nothing, at any call of the table', async () => {
    let calls = Number.POSITIVE_INFINITY
    for (let at = 0; at < calls; at += 1) {
      runtime = memoryRuntime()
      payouts = []
      const payout = pay()
      const { range, adopting } = opened()
      const missing = await missingPayouts(range, adopting)
      let made = 0
      runtime.beforeCall = async () => {
        made += 1
        if (made - 1 !== at) return
        runtime.beforeCall = () => {}
        await retry(payout)
      }
      const adopted = await allOf(adoptPayouts(tenant, missing, adopting))
      if (made <= at) calls = made
      expect(adoptedRefunds()).toEqual([payout.id])
      expect(adopted).toHaveLength(made <= at ? 1 : 0)
    }
    expect(calls).toBeGreaterThan(2)
  })

  test('is second: its claim is refused, and names the refund that is its answer', async () => {
    const payout = pay()
    await adopt()
    expect(await retry(payout)).toMatchObject({ refund_id: payout.refundId })
    expect(adoptedRefunds()).toEqual([payout.id])
  })
})

test('a lost response of the table adopts a payout once', async () => {
  const payout = pay()
  runtime.afterCall = ({ name }) => {
    if (name !== 'transact') return
    runtime.afterCall = () => {}
    throw Object.assign(new Error('reset'), { code: 'ECONNRESET' })
  }
  await adopt()
  expect(await adopt()).toEqual([])
  expect(ledger()).toMatchObject([{ refund_id: payout.refundId }])
})

describe('the range of an adoption', () => {
  const now = Date.parse('2026-03-01T12:00:00Z')
  const from = new Date(now - minute)

  test('ends now, however young its payouts are', () => {
    expect(rangeOf({ from, to: undefined, adopt: true }, localSettings, now)).toEqual({
      from: from.getTime(),
      to: now,
    })
  })

  test('needs a start', () => {
    expect(() => rangeOf({ from: undefined, to: undefined, adopt: true }, localSettings, now)).toThrow(
      '--from',
    )
  })
})

test.each(['pending', 'succeeded'] as const)(
  'a %s payout that is adopted locks its charge, if a charge may be refunded once',
  async (status) => {
    runtime = memoryRuntime({ 'refunds.policy': 'once_per_charge' })
    pay(newRefund(), { status })
    expect(await adopt()).toMatchObject([{ status }])
    await expect(store(newRefund())).rejects.toMatchObject({ code: 'POLICY.refund.repeated' })
  },
)

async function fail({ id }: Refund): Promise<void> {
  const refund = (await findRefund(runtime.table, tenant, id)) as Refund
  const context = { ...runtime, now: runtime.clock.now(), alert: () => {} }
  await apply(runtime, (await settleRefund(refund, { status: 'failed' }, context)).effects)
}

test('a pending payout that is adopted and then fails leaves its charge free', async () => {
  runtime = memoryRuntime({ 'refunds.policy': 'once_per_charge' })
  const refund = newRefund()
  pay(refund, { status: 'pending' })
  await adopt()
  await fail(refund)
  expect(itemsOf('charge_lock')).toEqual([])
})

describe('a pending payout that is adopted while another refund has locked its charge', () => {
  let other: Refund
  let adopted: Refund
  beforeEach(async () => {
    runtime = memoryRuntime({ 'refunds.policy': 'once_per_charge' })
    other = newRefund({ request_name: 'another' })
    await store(other)
    adopted = newRefund()
    pay(adopted, { status: 'pending' })
    await adopt()
  })

  const holders = () => itemsOf('charge_lock').map(({ refund_id }) => refund_id)

  test('leaves the lock to that one', () => {
    expect(holders()).toEqual([other.id])
  })

  test('has the lock once that one fails', async () => {
    await fail(other)
    expect(holders()).toEqual([adopted.id])
  })

  test('leaves the lock to that one when it fails', async () => {
    await fail(adopted)
    expect(holders()).toEqual([other.id])
  })

  test.each([
    ['first', () => [adopted, other]],
    ['last', () => [other, adopted]],
  ])('leaves the charge free once both have failed, itself %s', async (_, order) => {
    for (const refund of order()) await fail(refund)
    expect(holders()).toEqual([])
  })
})
