import { beforeEach, describe, expect, test } from '@jest/globals'
import { sweep as sweepAll } from '#functions/platform/finish-sagas/sweep.ts'
import { newId, timeOf, timestamp } from '#shared/platform/base/clock.ts'
import { fail } from '#shared/platform/base/failure.ts'
import type { WorkKind } from '#shared/platform/base/log.ts'
import { runLimitMilliseconds } from '#shared/platform/request/finish-sagas.ts'
import { type Item, keyOf, pendingKeyOf } from '#shared/platform/table/keys.ts'
import { checkRefunds } from '#shared/refunds/check-refunds.ts'
import type { ProviderOutcome, ProviderRequest } from '#shared/refunds/payment-provider.ts'
import { makeRefund, type Refund } from '#shared/refunds/refund.ts'
import type { ProviderReport } from '#shared/refunds/refund-states.ts'
import { findRefund, startWrites } from '#shared/refunds/refund-store.ts'
import { settleRefund } from '#shared/refunds/settle-refund.ts'
import { connectionError, type MemoryRuntime, memoryRuntime } from '#test/support/memory-runtime.ts'
import { apply } from './apply.ts'

const minute = 60_000
const tenant = 'acme'
const facts = { provider_refund_id: 're_1', currency: 'EUR' }
const accepted: ProviderReport = { status: 'pending', ...facts }
const answerOf = (status: 'succeeded' | 'pending' | 'failed'): ProviderOutcome => {
  return { status, providerRefundId: 're_1', currency: 'EUR', replayed: false }
}

let runtime: MemoryRuntime
let requests: ProviderRequest[]
let respond: () => ProviderOutcome | undefined | Promise<ProviderOutcome | undefined>
beforeEach(newRuntime)

function newRuntime() {
  runtime = memoryRuntime()
  requests = []
  respond = () => answerOf('succeeded')
}

async function report(id: string, one: ProviderReport) {
  const { table, settings, clock } = runtime
  const refund = (await findRefund(table, tenant, id)) as Refund
  const context = { table, settings, now: clock.now(), alert: () => {} }
  await apply(runtime, (await settleRefund(refund, one, context)).effects)
}

/** Stores a refund after some reports, the last of which its provider answered or sent. */
async function start(...reports: ProviderReport[]): Promise<Refund> {
  const of = { id: newId(runtime.clock), tenant_id: tenant, account: 'acct_1', request_name: 'request-1' }
  const refund = makeRefund({ charge_id: 'ch_1', amount: 700 }, of)
  await apply(runtime, { writes: startWrites(refund, runtime.settings) })
  for (const one of reports) await report(refund.id, one)
  return refund
}

const provider = {
  find: async (request: ProviderRequest) => {
    requests.push(request)
    return respond()
  },
}
const sweep = () => checkRefunds(runtime, async () => provider, runtime.clock.now() + runLimitMilliseconds)
const sweepAfter = (minutes: number) => {
  runtime.clock.advance(minutes * minute)
  return sweep()
}
const itemsOf = (entity: string) => runtime.store.all().filter(({ pk }) => pk.startsWith(`${entity}#`))
const entries = () => itemsOf('unsettled-refund')
const stored = () => itemsOf('refund')[0] as Item & Refund
const state = () => ({
  status: stored().status,
  ledger: itemsOf('ledger').map(({ kind, amount, currency }) => `${kind} ${amount} ${currency}`),
  audit: itemsOf('audit').map(({ action, actor_id }) => `${action} by ${actor_id}`),
  open: entries().length,
})

const paid = {
  status: 'succeeded',
  ledger: ['payout 700 EUR'],
  audit: ['refund_succeeded by payment_provider'],
  open: 0,
}

describe('the ages that the sweeper logs', () => {
  const logged: string[] = []
  const swept = async () => {
    logged.length = 0
    const pending = (work: WorkKind, seconds: number) => logged.push(`${work} ${seconds}`)
    await sweepAll({ ...runtime, log: { ...runtime.log, pending, job: () => {} } }, async () => provider)
    return logged
  }

  test('name a refund that the provider has not settled apart from those that the service has not finished', async () => {
    respond = () => answerOf('pending')
    await start(accepted)
    runtime.clock.advance(20 * minute)
    expect(await swept()).toEqual(['unsettled_refunds 1200'])
  })

  test('name a refund whose request was interrupted as one that the service has not finished', async () => {
    await interrupt()
    runtime.clock.advance(20 * minute)
    expect(await swept()).toEqual(['refunds 1200'])
  })
})

/** Stores a refund whose request was interrupted, and on which another process works. */
async function interrupt(): Promise<void> {
  const id = newId(runtime.clock)
  const entry = { ...pendingKeyOf('pending-saga', id), tenant, operation: 'refunds.create' }
  const record = { pk: 'idempotency#busy', sk: id }
  await runtime.table.put({
    item: { ...entry, record, payload_hash: 'h', correlation_id: 'c' },
    condition: 'none',
  })
  const saga = { entry: id, state: {} }
  const busy = { ...record, state: 'pending', lease_until: runtime.clock.now() + 60 * minute, saga }
  await runtime.table.put({ item: busy, condition: 'none' })
}

describe('a refund that is pending at the provider', () => {
  test('is asked about while interrupted refunds are finished', async () => {
    await start(accepted)
    await interrupt()
    runtime.clock.advance(20 * minute)
    const asked = new Promise<void>((resolve) => {
      respond = () => {
        resolve()
        return answerOf('succeeded')
      }
    })
    runtime.beforeCall = ({ name, input }) =>
      name === 'get' && (input as Item).pk === 'idempotency#busy' ? asked : undefined
    const log = { ...runtime.log, pending: () => {}, job: () => {} }
    await sweepAll({ ...runtime, log }, async () => provider)
    expect(state()).toEqual(paid)
  })

  test('is asked about although the interrupted refunds cannot be read', async () => {
    await start(accepted)
    runtime.clock.advance(20 * minute)
    runtime.beforeCall = ({ input }) => {
      if (JSON.stringify(input).includes('pending-saga')) throw new Error('broken')
    }
    const log = { ...runtime.log, pending: () => {}, job: () => {} }
    await expect(sweepAll({ ...runtime, log }, async () => provider)).rejects.toThrow('broken')
    expect(state()).toEqual(paid)
  })

  test('is not asked about before the age of refunds.pendingMinutes', async () => {
    await start(accepted)
    expect(await sweepAfter(14)).toEqual({ finished: 0, left: 0 })
    expect(requests).toEqual([])
  })

  test('is asked about with its own request at that age', async () => {
    const { id } = await start(accepted)
    await sweepAfter(15)
    expect(requests).toEqual([
      {
        ...{ account: 'acct_1', chargeId: 'ch_1', amount: 700, tenant: 'acme' },
        ...{ providerRefundId: 're_1', refundId: id, requestName: 'request-1', usesOwnKey: false },
        ...{ requestedSince: timeOf(id), earliestPayoutAt: timeOf(id) - 24 * 3_600_000, mayBeLost: false },
      },
    ])
  })

  test.each([
    ['succeeded', paid],
    ['failed', { status: 'failed', ledger: [], audit: ['refund_failed by payment_provider'], open: 0 }],
  ] as const)('that has %s at the provider ends so', async (status, expected) => {
    respond = () => answerOf(status)
    await start(accepted)
    expect(await sweepAfter(15)).toEqual({ finished: 1, left: 0 })
    expect(state()).toEqual(expected)
  })

  test('is reported with its age while it stays pending', async () => {
    respond = () => answerOf('pending')
    const { id } = await start(accepted)
    expect(await sweepAfter(15)).toEqual({ finished: 1, left: 0, oldest: timeOf(id) })
    expect(await sweepAfter(1)).toEqual({ finished: 0, left: 0 })
    expect(await sweepAfter(14)).toEqual({ finished: 1, left: 0, oldest: timeOf(id) })
  })

  test('is asked about each time its age has doubled, and once in 23 hours', async () => {
    respond = () => answerOf('pending')
    await start(accepted)
    const ages: number[] = []
    for (let age = 0; age < 5 * 24 * 60; age += 1) {
      await sweep()
      if (requests.length > ages.length) ages.push(age)
      runtime.clock.advance(minute)
    }
    const longest = 23 * 60
    const doubled = [15, 30, 60, 120, 240, 480, 960, 1920]
    expect(ages).toEqual([...doubled, 1920 + longest, 1920 + 2 * longest, 1920 + 3 * longest])
  })

  test('has no entry any more once an event settled it', async () => {
    const { id } = await start(accepted)
    expect(entries()).toHaveLength(1)
    await report(id, { status: 'failed', at: '2026-03-01T13:00:00.000Z' })
    expect(entries()).toEqual([])
  })

  test.each(['succeeded', 'pending'] as const)(
    'and that an event settles while the answer says %s is booked once',
    async (answer) => {
      const { id } = await start(accepted)
      respond = async () => {
        await report(id, { status: 'succeeded', at: '2026-03-01T12:10:00.000Z' })
        return answerOf(answer)
      }
      expect(await sweepAfter(15)).toEqual({ finished: 1, left: 0 })
      expect(state()).toEqual(paid)
    },
  )

  test.each([
    ['reversed', 'succeeded', 'failed', 'reversed'],
    ['paid late', 'failed', 'succeeded', 'succeeded'],
  ] as const)(
    'and that is %s right after the answer is so, although the clock of the provider is behind',
    async (_name, answer, next, expected) => {
      respond = () => answerOf(answer)
      const { id } = await start(accepted)
      await sweepAfter(15)
      await report(id, { status: next, at: timestamp(runtime.clock.now() - 2000) })
      expect(stored().status).toBe(expected)
    },
  )

  test('and that failed before it was paid is not reversed', async () => {
    const { id } = await start(accepted)
    await sweepAfter(15)
    await report(id, { status: 'failed', at: timestamp(runtime.clock.now() - 3000) })
    expect(state()).toEqual(paid)
  })
})

test.each([
  ['that the provider has not accepted', []],
  ['that the provider rejected', [{ status: 'failed' } as ProviderReport]],
  [
    'that succeeded with its facts',
    [{ ...accepted, status: 'succeeded', at: '2026-03-01T12:00:00.000Z' } as ProviderReport],
  ],
])('a refund %s is not asked about', async (_, reports) => {
  await start(...reports)
  expect(entries()).toEqual([])
})

describe('a payout without the facts of the provider', () => {
  const late: ProviderReport[] = [
    { status: 'failed' },
    { status: 'succeeded', at: '2026-03-01T12:00:00.000Z' },
  ]

  test('gets them in the refund and in the ledger', async () => {
    await start(...late)
    await sweepAfter(15)
    expect(stored()).toMatchObject({ status: 'succeeded', ...facts })
    expect(state()).toMatchObject({ ledger: ['payout 700 EUR'], open: 0 })
  })

  test('that was reversed gets them in both entries', async () => {
    respond = () => answerOf('failed')
    await start(...late, { status: 'failed', at: '2026-03-01T12:01:00.000Z' })
    await sweepAfter(15)
    expect(state()).toMatchObject({
      status: 'reversed',
      ledger: ['payout 700 EUR', 'reversal -700 EUR'],
      open: 0,
    })
  })
})

describe('a question without a useful answer', () => {
  test('because the provider is down is repeated after a pause', async () => {
    const { id } = await start(accepted)
    respond = () => Promise.reject(fail('DEPENDENCY.unavailable'))
    const fault = { code: 'DEPENDENCY.unavailable' }
    expect(await sweepAfter(15)).toMatchObject({ finished: 0, left: 1, oldest: timeOf(id), fault })
    respond = () => answerOf('succeeded')
    expect(await sweepAfter(3)).toEqual({ finished: 0, left: 0 })
    expect(await sweepAfter(1)).toEqual({ finished: 1, left: 0 })
    expect(state()).toEqual(paid)
  })

  test('because the provider does not know the refund is left, and the refund unchanged', async () => {
    await start(accepted)
    respond = () => undefined
    const { left, fault } = await sweepAfter(15)
    expect([left, String(fault)]).toEqual([
      1,
      'Error: the payment provider does not know a refund that it accepted',
    ])
    expect(state()).toEqual({ status: 'pending', ledger: [], audit: [], open: 1 })
  })

  test('because the time of the run is over is left to the next run', async () => {
    await start(accepted)
    runtime.clock.advance(15 * minute)
    expect(await checkRefunds(runtime, async () => provider, runtime.clock.now())).toMatchObject({ left: 1 })
    expect(requests).toEqual([])
  })
})

test('the entry of a refund that was purged is removed', async () => {
  const { id } = await start(accepted)
  await runtime.table.transact([{ remove: keyOf(tenant, 'refund', id), condition: 'none' }])
  expect(await sweepAfter(15)).toEqual({ finished: 1, left: 0 })
  expect(entries()).toEqual([])
})

describe('a run whose calls of the table break', () => {
  test.each([
    ['before they take effect', 'beforeCall'],
    ['after they took effect', 'afterCall'],
  ] as const)('%s books the payout once in the end', async (_, hook) => {
    let calls = 1
    for (let broken = 0; broken < calls; broken += 1) {
      newRuntime()
      await start(accepted)
      runtime.clock.advance(15 * minute)
      let at = 0
      // From this call on, all break, until the next run.
      runtime[hook] = () => {
        if (at++ >= broken) throw connectionError()
      }
      await sweep().catch(() => undefined)
      calls = Math.max(calls, at)
      runtime[hook] = () => {}
      await sweepAfter(1)
      await sweepAfter(30)
      expect(state()).toEqual(paid)
    }
    expect(calls).toBeGreaterThan(2)
  })
})
