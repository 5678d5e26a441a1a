import { beforeEach, describe, expect, test } from '@jest/globals'
import { newId, timeOf, timestamp } from '#shared/platform/base/clock.ts'
import type { Outbox } from '#shared/platform/events/outbox.ts'
import { commitDecision } from '#shared/platform/idempotency/commit-decision.ts'
import type { Decision } from '#shared/platform/idempotency/decision.ts'
import { openWork } from '#shared/platform/request/context.ts'
import type { Item } from '#shared/platform/table/keys.ts'
import type { EarlierUse, ProviderOutcome, ProviderRequest } from '#shared/refunds/payment-provider.ts'
import { makeRefund, type Refund } from '#shared/refunds/refund.ts'
import { refundSaga } from '#shared/refunds/refund-saga.ts'
import type { ProviderReport } from '#shared/refunds/refund-states.ts'
import { settleRefund } from '#shared/refunds/settle-refund.ts'
import type { Settings } from '#shared/settings/register.ts'
import { eventsOf } from '#test/support/item-events.ts'
import { memoryRuntime } from '#test/support/memory-runtime.ts'

const tenant = 'acme'
const caller = { sub: 'caller', tenant, role: 'Editor' as const, scopes: new Set<string>(), claims: {} }
const paid: ProviderOutcome = {
  status: 'succeeded',
  providerRefundId: 're_1',
  currency: 'EUR',
  replayed: false,
}
const declined: ProviderOutcome = { status: 'rejected', reason: 'declined' }

let runtime: ReturnType<typeof memoryRuntime>
let requests: ProviderRequest[]
let respond: () => ProviderOutcome | EarlierUse | Promise<ProviderOutcome | EarlierUse>
let adoptions: [string, string][]
let respondToAdoption: () => ProviderOutcome | Promise<ProviderOutcome>

beforeEach(() => useSettings())

function useSettings(changes: Partial<Settings> = {}) {
  runtime = memoryRuntime(changes)
  requests = []
  respond = () => paid
  adoptions = []
  respondToAdoption = () => ({ ...paid, replayed: true })
}

function sagaOf(by: { caller?: typeof caller } = {}) {
  const correlation = { id: 'corr-1', trace: {} }
  const work = openWork(runtime, { operation: 'refunds.create', correlation, milliseconds: 10_000 })
  const context = Object.assign(work, { caller: by.caller })
  const provider = {
    refund: async (request: ProviderRequest) => {
      requests.push(request)
      return respond()
    },
    adopt: async (providerRefundId: string, request: ProviderRequest) => {
      adoptions.push([providerRefundId, request.refundId])
      return respondToAdoption()
    },
  }
  return { context, saga: refundSaga(context, async () => provider) }
}

/** Commits the start of a refund and returns its state. */
async function start(): Promise<Refund> {
  const { context, saga } = sagaOf({ caller })
  const of = { id: newId(runtime.clock), tenant_id: tenant, account: 'acct_1', request_name: 'request-1' }
  const refund = makeRefund({ charge_id: 'ch_1', amount: 700 }, of)
  await commitDecision(context, saga.start(refund), () => ({ result: undefined }))
  return refund
}

/** Executes the saga and commits its outcome. */
async function finish(state: Refund, by = {}): Promise<Decision> {
  const { context, saga } = sagaOf(by)
  const outcome = await saga.outcome(state, await saga.execute(state))
  const committed = await commitDecision(context, outcome, (result) => ({ result }))
  if ('existing' in committed) throw new Error('there is no guard')
  return committed.result
}

const itemsOf = (entity: string) => runtime.store.all().filter(({ pk }) => pk.startsWith(`${entity}#`))
const denials = () => itemsOf('audit').filter(({ result }) => result === 'deny')
const stored = () => itemsOf('refund')[0] as Item & Refund & { outbox?: Outbox }
/** Settles a refund as an event of the provider does. */
async function settleByEvent(refund: Refund, report: Pick<ProviderReport, 'status' | 'provider_refund_id'>) {
  const { context } = sagaOf()
  const { clock, table, settings } = runtime
  const now = clock.now()
  const settleContext = { table, settings, now, alert: () => {} }
  const { effects } = await settleRefund(refund, { ...report, at: timestamp(now) }, settleContext)
  await commitDecision(context, effects, () => ({ result: undefined }))
}

describe('a refund that starts', () => {
  test('is stored as pending', async () => {
    const refund = await start()
    expect(stored()).toMatchObject({ ...refund, status: 'pending', version: 1 })
  })

  test('is audited with its charge and amount', async () => {
    const refund = await start()
    expect(itemsOf('audit')).toMatchObject([
      {
        action: 'refund',
        target: `refund/${refund.id}`,
        tenant_id: tenant,
        after: { charge_id: 'ch_1', amount: 700 },
        result: 'allow',
      },
    ])
  })

  test('is finished by the service if nobody retries it', () => {
    expect(sagaOf().saga.finishedBy).toBe('service')
  })

  test('is the only one of its charge under the policy once_per_charge', async () => {
    useSettings({ 'refunds.policy': 'once_per_charge' })
    await start()
    await expect(start()).rejects.toMatchObject({ code: 'POLICY.refund.repeated' })
  })

  test('is one of several of its charge under the policy within_charge', async () => {
    await start()
    await start()
    expect(itemsOf('refund')).toHaveLength(2)
    expect(itemsOf('charge_lock')).toEqual([])
  })
})

describe('a refund that the provider pays', () => {
  test('is requested with its own id, account and time', async () => {
    const state = await start()
    await finish(state)
    const { id } = state
    expect(requests).toEqual([
      {
        ...{ account: 'acct_1', chargeId: 'ch_1', amount: 700, tenant: 'acme' },
        ...{ refundId: id, requestName: 'request-1', usesOwnKey: false },
        ...{ requestedSince: timeOf(id), earliestPayoutAt: timeOf(id) - 24 * 3_600_000, mayBeLost: false },
      },
    ])
  })

  test('returns the refund', async () => {
    const state = await start()
    expect(await finish(state)).toMatchObject({
      status: 201,
      body: { id: state.id, charge_id: 'ch_1', amount: 700, status: 'succeeded' },
    })
  })

  test('is stored with the id and the currency of the provider', async () => {
    const state = await start()
    runtime.clock.advance(1000)
    await finish(state)
    expect(stored()).toMatchObject({
      status: 'succeeded',
      provider_refund_id: 're_1',
      currency: 'EUR',
      version: 2,
      updated_at: timestamp(runtime.clock.now()),
    })
  })

  test('has one ledger entry', async () => {
    const state = await start()
    await finish(state)
    const { pk, sk, ...entry } = itemsOf('ledger')[0] as Item
    expect(entry).toEqual({
      account: 'acct_1',
      refund_id: state.id,
      charge_id: 'ch_1',
      kind: 'payout',
      amount: 700,
      currency: 'EUR',
      provider_refund_id: 're_1',
      at: timestamp(runtime.clock.now()),
    })
  })

  test('publishes its success', async () => {
    const state = await start()
    await finish(state)
    expect(eventsOf(stored())).toMatchObject([
      { type: 'refund.succeeded', version: 1, data: { id: state.id, tenant_id: tenant } },
    ])
  })

  test('and that was paid before is reported as a duplicate', async () => {
    respond = () => ({ ...paid, replayed: true })
    await finish(await start())
    expect(runtime.reports).toMatchObject([{ code: 'PROVIDER_REPLAYED', error: 'PROVIDER.duplicate' }])
  })

  test.each([
    ['repeated is as old as the refund', {}, 0],
    ['looked up is as old as the request', { lookedUp: true as const }, 60_000],
  ])('whose payout is %s', async (_, found, age) => {
    respond = () => ({ ...paid, replayed: true, ...found })
    const state = await start()
    runtime.clock.advance(60_000)
    await finish(state)
    const { created_at, outcome_at } = stored() as unknown as Refund
    const seconds = (Date.parse(String(outcome_at)) - Date.parse(created_at) + 2500 - age) / 1000
    expect(Math.round(seconds)).toBe(0)
  })

  test('for the first time is not reported', async () => {
    await finish(await start())
    expect(runtime.reports).toEqual([])
  })
})

describe('a refund that the provider accepts and settles later', () => {
  test('is returned and stored as pending, without a ledger entry and an event', async () => {
    respond = () => ({ ...paid, status: 'pending' })
    expect(await finish(await start())).toMatchObject({ status: 201, body: { status: 'pending' } })
    expect(stored()).toMatchObject({ status: 'pending', provider_refund_id: 're_1' })
    expect(itemsOf('ledger')).toEqual([])
    expect(stored()).not.toHaveProperty('outbox')
  })
})

describe('a refund that the provider rejects', () => {
  test.each([
    ['no_such_charge', 404, 'NOT_FOUND.charge'],
    ['exceeds_charge', 409, 'POLICY.refund.exceeds_charge'],
    ['declined', 409, 'POLICY.refund.declined'],
  ] as const)('as %s fails with %d %s', async (reason, status, code) => {
    respond = () => ({ status: 'rejected', reason })
    expect(await finish(await start())).toMatchObject({ status, failure: { code } })
    expect(stored()).toMatchObject({ status: 'failed', version: 2 })
  })

  test('is not reported as a duplicate', async () => {
    respond = () => declined
    await finish(await start())
    expect(runtime.reports).toEqual([])
  })

  test('is audited as a denial of the provider', async () => {
    respond = () => declined
    const refund = await start()
    await finish(refund, { caller })
    expect(denials()).toMatchObject([
      {
        action: 'refund_failed',
        target: `refund/${refund.id}`,
        tenant_id: tenant,
        actor_id: 'payment_provider',
        before: { status: 'pending' },
        after: { status: 'failed', charge_id: 'ch_1', amount: 700 },
        reason: 'POLICY.refund.declined',
      },
    ])
  })

  test('is named in the error', async () => {
    respond = () => ({ status: 'rejected', reason: 'exceeds_charge', remaining: 5 })
    const { id } = await start()
    expect(await finish(stored())).toMatchObject({ failure: { details: { refund_id: id, remaining: 5 } } })
  })
})

describe('a refund that was settled in the meantime', () => {
  const ageMilliseconds = 10_000

  const succeeded = { status: 201, body: { status: 'succeeded' } }
  const failed = { status: 409, failure: { code: 'POLICY.refund.declined' } }
  const outcomes = [
    ['succeeded', succeeded],
    ['failed', failed],
  ] as const

  test.each(outcomes)('as %s returns that outcome and pays nothing', async (status, expected) => {
    const state = await start()
    await settleByEvent(state, { status })
    runtime.clock.advance(ageMilliseconds)
    expect(await finish(state)).toMatchObject(expected)
    expect(requests).toEqual([])
  })

  test('is read at any age by a run that takes its saga over', async () => {
    const state = await start()
    await settleByEvent(state, { status: 'succeeded' })
    await finish(state)
    expect(requests).toEqual([])
  })

  test('is not paid if only the state of its saga names it', async () => {
    const state = await start()
    const forged = { ...state, id: newId(runtime.clock), tenant_id: 'another' }
    expect(await finish(forged)).toMatchObject({ status: 500 })
    expect(requests).toEqual([])
  })

  test.each(outcomes)('as %s during the payout returns the stored outcome', async (status, expected) => {
    const state = await start()
    respond = async () => {
      await settleByEvent(state, { status, provider_refund_id: 're_event' })
      return paid
    }
    expect(await finish(state)).toMatchObject(expected)
    expect(itemsOf('ledger').map(({ provider_refund_id }) => provider_refund_id)).toEqual(
      status === 'succeeded' ? ['re_event'] : [],
    )
  })

  test('as pending during the payout has the outcome of the payout', async () => {
    const state = await start()
    respond = async () => {
      await settleByEvent(state, { status: 'pending', provider_refund_id: 're_1' })
      return paid
    }
    await finish(state)
    expect(requests).toHaveLength(1)
    expect(stored()).toMatchObject({ status: 'succeeded', version: 3 })
  })

  test.each(['before', 'during'])(
    'that is gone %s the payout ends as a fault, without effects',
    async (when) => {
      const state = await start()
      const lose = () =>
        runtime.table.transact([{ remove: { pk: stored().pk, sk: stored().sk }, condition: 'none' }])
      runtime.clock.advance(ageMilliseconds)
      respond = async () => {
        await lose()
        return paid
      }
      if (when === 'before') await lose()
      expect(await finish(state)).toMatchObject({ status: 500, failure: { code: 'INTERNAL.unexpected' } })
      expect([itemsOf('refund'), itemsOf('ledger')]).toEqual([[], []])
    },
  )
})
