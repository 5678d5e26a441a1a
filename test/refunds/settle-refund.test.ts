import { beforeEach, describe, expect, test } from '@jest/globals'
import { newId } from '#shared/platform/base/clock.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import { makeRefund, type Refund } from '#shared/refunds/refund.ts'
import type { NextStatus, ProviderReport, RefundStatus } from '#shared/refunds/refund-states.ts'
import { findRefund, startWrites } from '#shared/refunds/refund-store.ts'
import { settleRefund } from '#shared/refunds/settle-refund.ts'
import type { Settings } from '#shared/settings/register.ts'
import { eventsOf } from '#test/support/item-events.ts'
import { type MemoryRuntime, memoryRuntime } from '#test/support/memory-runtime.ts'
import { apply } from './apply.ts'

const tenant = 'acme'
const facts = { provider_refund_id: 're_1', currency: 'EUR' }
const hour = (n: number) => `2026-03-02T0${n}:00:00.000Z`
const succeeded = (n: number): ProviderReport => ({ status: 'succeeded', at: hour(n) })
const failed = (n: number): ProviderReport => ({ status: 'failed', at: hour(n) })
const rejected: ProviderReport = { status: 'failed', reason: 'POLICY.refund.declined' }

let runtime: MemoryRuntime
beforeEach(() => {
  runtime = memoryRuntime()
})

async function start(changes: Partial<Settings> = {}): Promise<Refund> {
  if (Object.keys(changes).length > 0) runtime = memoryRuntime(changes)
  const of = { id: newId(runtime.clock), tenant_id: tenant, account: 'acct_1', request_name: 'request-1' }
  const refund = makeRefund({ charge_id: 'ch_1', amount: 700 }, of)
  await apply(runtime, { writes: startWrites(refund, runtime.settings) })
  return refund
}

/** Applies a report to the stored refund and returns what it led to. */
async function report(id: string, one: ProviderReport): Promise<NextStatus> {
  const { table, settings, clock, alerts } = runtime
  const refund = (await findRefund(table, tenant, id)) as Refund
  const context = {
    table,
    settings,
    now: clock.now(),
    alert: (...one: (typeof alerts)[number]) => alerts.push(one),
  }
  const { next, effects } = await settleRefund(refund, one, context)
  await apply(runtime, effects)
  return next
}

const itemsOf = (entity: string) => runtime.store.all().filter(({ pk }) => pk.startsWith(`${entity}#`))
const ledger = () => itemsOf('ledger').map(({ kind, amount }) => `${kind} ${amount}`)
const audited = () =>
  itemsOf('audit')
    .toSorted((one, other) => (one.sk < other.sk ? -1 : 1))
    .map(({ action }) => action)
const stored = () => itemsOf('refund')[0] as Item & Refund

/** Every sequence of at most `length` of these. */
function sequences<T>(of: readonly T[], length: number): T[][] {
  if (length === 0) return [[]]
  const shorter = sequences(of, length - 1)
  const longest = shorter.filter((one) => one.length === length - 1)
  return [...shorter, ...longest.flatMap((one) => of.map((next) => [...one, next]))]
}

/**
 * The books that a sequence of reports must lead to. It is written with the last success and failure that counted, and
 * knows nothing of the table of edges.
 */
function model(reports: readonly ProviderReport[]) {
  let paid: string | undefined
  let lost: string | undefined
  let isRejected = false
  const entries: string[] = []
  const audit: string[] = []
  let alerts = 0
  for (const { status, at } of reports) {
    const isPaid = entries.length > 0
    if (status === 'succeeded' && !isPaid && (lost === undefined || String(at) > lost)) {
      if (lost !== undefined || isRejected) alerts += 1
      paid = at
      entries.push('payout 700')
      audit.push('refund_succeeded')
    } else if (status === 'failed' && isPaid && entries.length === 1 && at && at >= String(paid)) {
      entries.push('reversal -700')
      audit.push('refund_reversed')
    } else if (status === 'failed' && !isPaid && lost === undefined && !isRejected) {
      lost = at
      isRejected = at === undefined
      audit.push('refund_failed')
    } else if (status === 'failed' && !isPaid && at && (lost === undefined || at > lost)) {
      lost = at
    }
  }
  const isFailed = lost !== undefined || isRejected
  const status: RefundStatus =
    entries.length === 2 ? 'reversed' : entries.length === 1 ? 'succeeded' : isFailed ? 'failed' : 'pending'
  return { status, entries, audit, alerts }
}

const reports = {
  S1: succeeded(1),
  S2: succeeded(2),
  S3: succeeded(3),
  F1: failed(1),
  F2: failed(2),
  F3: failed(3),
  R: rejected,
  P: { status: 'pending', at: hour(1), ...facts } as ProviderReport,
}

/** With mutants, it runs for each of them. */
const longest = process.env.MUTATED_AREA ? 2 : 4

test(`every sequence of at most ${longest} reports leads to the books of the model`, async () => {
  const all = sequences(Object.keys(reports) as (keyof typeof reports)[], longest)
  const wrong: string[] = []
  for (const names of all) {
    runtime = memoryRuntime()
    const { id } = await start()
    for (const name of names) await report(id, reports[name])
    const { status, entries, audit, alerts } = model(names.map((name) => reports[name]))
    const expected = JSON.stringify({ status, entries, audit, alerts })
    const actual = {
      status: stored().status,
      entries: ledger(),
      audit: audited(),
      alerts: runtime.alerts.length,
    }
    if (JSON.stringify(actual) !== expected)
      wrong.push(`${names}: ${JSON.stringify(actual)}, not ${expected}`)
  }
  expect(wrong).toEqual([])
})

describe('an edge', () => {
  test.each([
    ['a payout', [succeeded(1)], 'refund_succeeded', 'pending', 'succeeded'],
    ['a failure', [failed(1)], 'refund_failed', 'pending', 'failed'],
    ['a late payout', [failed(1), succeeded(2)], 'refund_succeeded', 'failed', 'succeeded'],
    ['a reversal', [succeeded(1), failed(2)], 'refund_reversed', 'succeeded', 'reversed'],
  ])('of %s is audited with the provider as the actor', async (_, all, action, before, after) => {
    const { id } = await start()
    for (const one of all) await report(id, one)
    expect(itemsOf('audit').find((record) => record.action === action)).toMatchObject({
      actor_id: 'payment_provider',
      target: `refund/${id}`,
      tenant_id: tenant,
      correlation_id: 'corr-1',
      before: { status: before },
      after: { status: after, charge_id: 'ch_1', amount: 700 },
    })
  })

  test('stores the time of its report', async () => {
    const { id } = await start()
    await report(id, succeeded(1))
    await report(id, failed(2))
    expect(stored()).toMatchObject({ status: 'reversed', outcome_at: hour(2), version: 3 })
  })

  test.each([
    ['.500Z', '.5001Z', 'succeeded'],
    ['.5001Z', '.5009Z', 'succeeded'],
    ['.5009Z', '.5001Z', 'failed'],
    ['.5001Z', '.500Z', 'failed'],
  ])(
    'follows times within a millisecond: a failure at %s, then a payout at %s',
    async (lost, paid, status) => {
      const { id } = await start()
      await report(id, { status: 'failed', at: hour(1).replace('.000Z', lost) })
      await report(id, { status: 'succeeded', at: hour(1).replace('.000Z', paid) })
      expect(stored()).toMatchObject({ status })
    },
  )

  test('to a payout publishes refund.succeeded, and no other edge publishes anything', async () => {
    const { id } = await start()
    const published = new Set<string>()
    for (const one of [failed(1), succeeded(2), failed(3)]) {
      await report(id, one)
      for (const { type, event_id } of eventsOf(stored())) published.add(`${type} ${event_id}`)
    }
    expect([...published]).toEqual([expect.stringMatching(/^refund\.succeeded /)])
  })

  // Neither the ledger nor the hold of a rejected refund refuses a second write.
  test.each<[ProviderReport, string[]]>([
    [succeeded(1), ['payout 700']],
    [rejected, []],
  ])('is written once by concurrent reports: %j', async (both, entries) => {
    const { id } = await start()
    const refund = (await findRefund(runtime.table, tenant, id)) as Refund
    const { table, settings, clock } = runtime
    const context = { table, settings, now: clock.now(), alert: () => {} }
    const [one, other] = await Promise.all([1, 2].map(() => settleRefund(refund, both, context)))
    await apply(runtime, one?.effects ?? {})
    await expect(apply(runtime, other?.effects ?? {})).rejects.toMatchObject({ code: 'TRANSIENT.error' })
    expect(ledger()).toEqual(entries)
  })
})

test.each([
  ['a later time contradicts it', succeeded(3), 'contradiction'],
  ['an earlier time changes nothing', succeeded(1), 'unchanged'],
])('a success after a reversal of %s', async (_, late, next) => {
  const { id } = await start()
  for (const one of [succeeded(1), failed(2)]) await report(id, one)
  expect(await report(id, late)).toBe(next)
})

describe('the facts of the provider', () => {
  test.each([
    ['before the outcome', [{ status: 'pending', ...facts }, succeeded(1), failed(2)]],
    ['with the outcome', [{ ...succeeded(1), ...facts }, failed(2)]],
    ['after the outcome', [succeeded(1), { ...succeeded(1), ...facts }, failed(2)]],
    ['after the reversal', [succeeded(1), failed(2), { ...failed(2), ...facts }]],
  ] as [string, ProviderReport[]][])('that come %s are in the refund and in each entry', async (_, all) => {
    const { id } = await start()
    for (const one of all) await report(id, one)
    expect(stored()).toMatchObject(facts)
    const entry = { refund_id: id, charge_id: 'ch_1', ...facts }
    expect(itemsOf('ledger')).toMatchObject([
      { ...entry, kind: 'payout', amount: 700 },
      { ...entry, kind: 'reversal', amount: -700 },
    ])
  })

  test('never replace known ones', async () => {
    const { id } = await start()
    await report(id, { ...succeeded(1), ...facts })
    await report(id, { ...succeeded(1), provider_refund_id: 're_other', currency: 'USD' })
    expect(stored()).toMatchObject({ ...facts, version: 2 })
  })

  test.each([facts, { currency: 'EUR' }, { provider_refund_id: 're_1' }])(
    'that come later, %j, leave amount and time of an entry',
    async (learned) => {
      const { id } = await start()
      await report(id, succeeded(1))
      const [before] = itemsOf('ledger')
      runtime.clock.advance(60_000)
      await report(id, { ...succeeded(1), ...learned })
      expect(itemsOf('ledger')).toEqual([{ ...before, ...learned }])
    },
  )
})

describe('the lock on a charge that may be refunded once', () => {
  const once: Partial<Settings> = { 'refunds.policy': 'once_per_charge' }
  const holders = () => itemsOf('charge_lock').map(({ refund_id }) => refund_id)

  test('is released by a failure and by a reversal', async () => {
    const first = await start(once)
    await report(first.id, failed(1))
    expect(holders()).toEqual([])
    await report(first.id, succeeded(2))
    expect(holders()).toEqual([first.id])
    await report(first.id, failed(3))
    expect(holders()).toEqual([])
  })

  test('is released by them while charges may be refunded repeatedly, too', async () => {
    for (const reports of [[failed(1)], [succeeded(1), failed(2)]]) {
      const { id } = await start(once)
      expect(holders()).toEqual([id])
      runtime.settings = { ...runtime.settings, 'refunds.policy': 'within_charge' }
      for (const one of reports) await report(id, one)
      expect(holders()).toEqual([])
    }
  })

  test('passes to the late payout while charges may be refunded repeatedly, too', async () => {
    const late = await start(once)
    await report(late.id, rejected)
    const second = await start()
    await report(late.id, succeeded(2))
    runtime.settings = { ...runtime.settings, 'refunds.policy': 'within_charge' }
    await report(second.id, failed(3))
    expect(holders()).toEqual([late.id])
  })

  test('stays with the refund that took it, while a late payout is booked and raises an alarm', async () => {
    const late = await start(once)
    await report(late.id, rejected)
    const second = await start()
    await report(second.id, succeeded(1))
    await report(late.id, succeeded(2))
    expect(holders()).toEqual([second.id])
    expect(ledger()).toEqual(['payout 700', 'payout 700'])
    expect(runtime.alerts).toEqual([['REFUND_PAID_LATE', { tenant }]])
  })

  test.each([
    ['fails', [failed(3)]],
    ['is reversed', [succeeded(1), failed(3)]],
  ])('passes to the late payout if the refund that took it %s', async (_, reports) => {
    const late = await start(once)
    await report(late.id, rejected)
    const second = await start()
    await report(late.id, succeeded(2))
    for (const one of reports) await report(second.id, one)
    expect(holders()).toEqual([late.id])
    await report(late.id, failed(4))
    expect(holders()).toEqual([])
  })

  test('keeps what another release has added when it passes to another refund', async () => {
    const late = await start(once)
    await report(late.id, rejected)
    const second = await start()
    await report(late.id, succeeded(2))
    const [{ pk, sk } = { pk: '', sk: '' }] = itemsOf('charge_lock')
    await runtime.table.update({ update: { pk, sk }, set: { later: 1 }, condition: 'none' })
    await report(second.id, failed(3))
    expect(itemsOf('charge_lock')).toMatchObject([{ refund_id: late.id, later: 1 }])
  })

  /** Decides about each report before one of them is committed. The report that is rejected then is repeated. */
  async function reportTogether(all: readonly (readonly [id: string, ProviderReport])[]) {
    const { table, settings, clock, alerts } = runtime
    const context = {
      table,
      settings,
      now: clock.now(),
      alert: (...one: (typeof alerts)[number]) => alerts.push(one),
    }
    const decisions = []
    for (const [id, one] of all) {
      const refund = (await findRefund(table, tenant, id)) as Refund
      decisions.push({ id, one, effects: (await settleRefund(refund, one, context)).effects })
    }
    const rejected: string[] = []
    for (const { id, one, effects } of decisions) {
      await apply(runtime, effects).catch(async ({ code }) => {
        rejected.push(`${id} ${code}`)
        await report(id, one)
      })
    }
    return rejected
  }

  /** Starts a refund that is rejected, a second one likewise, and a third one, which locks the charge. */
  async function startThree() {
    const first = await start(once)
    await report(first.id, rejected)
    const second = await start()
    await report(second.id, rejected)
    return [first.id, second.id, (await start()).id] as const
  }

  test.each([
    [
      'before it fails',
      (late: string, holder: string) => [[late, succeeded(2)] as const, [holder, rejected] as const],
    ],
    [
      'after it failed',
      (late: string, holder: string) => [[holder, rejected] as const, [late, succeeded(2)] as const],
    ],
  ])('of a refund passes to the concurrent late payout that is committed %s', async (_, order) => {
    const [late, , holder] = await startThree()
    const together = order(late, holder)
    expect(await reportTogether(together)).toEqual([`${together[1]?.[0]} TRANSIENT.error`])
    expect(holders()).toEqual([late])
  })

  test.each([
    ['the first', 0],
    ['the second', 1],
  ] as const)('passes to both of two concurrent late payouts, of which %s comes first', async (_, at) => {
    const [first, second, holder] = await startThree()
    const [one, other] = at === 0 ? [first, second] : [second, first]
    const together = [one, other].map((id) => [id, succeeded(2)] as const)
    expect(await reportTogether(together)).toEqual([`${other} TRANSIENT.error`])
    await report(holder, rejected)
    expect(holders()).toEqual([one])
    await report(one, failed(3))
    expect(holders()).toEqual([other])
  })

  test('that a refund loses and takes again is not mistaken for its earlier one', async () => {
    const [first, second, holder] = await startThree()
    await report(first, succeeded(2))
    const { table, settings, clock } = runtime
    const context = { table, settings, now: clock.now(), alert: () => {} }
    const refund = (await findRefund(table, tenant, second)) as Refund
    const { effects } = await settleRefund(refund, succeeded(2), context)
    await report(first, failed(3))
    await report(holder, failed(2))
    const { id: fourth } = await start()
    await report(fourth, rejected)
    for (const id of [holder, fourth]) await report(id, succeeded(3))
    await expect(apply(runtime, effects)).rejects.toMatchObject({ code: 'TRANSIENT.error' })
    await report(holder, failed(4))
    expect(holders()).toEqual([fourth])
  })
})
