import { afterAll, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { type Clock, startBudget } from '#shared/platform/base/clock.ts'
import { stripeRefunds } from '#shared/refunds/list-stripe-refunds.ts'
import type { ProviderRefund, ProviderRefundRange } from '#shared/refunds/provider-refunds.ts'
import type { Call } from '#test/support/payment-provider/stripe-wire.ts'
import {
  answered,
  apiKey,
  error,
  fakeProvider,
  paidFor,
  quickClock,
  refund,
  request,
} from './stripe-requests.ts'

let account: string
let accounts = 0
beforeEach(() => {
  account = `acct_records_${accounts++}`
  jest.setSystemTime(0)
  fakeProvider.faults = () => undefined
})
afterAll(() => fakeProvider.stop())

const isList = ({ method, path }: Call) => method === 'GET' && path === '/refunds'
const lists = () => fakeProvider.calls.filter((call) => isList(call) && call.account === account)

function opened(clock: Clock = quickClock()) {
  return stripeRefunds({ apiKey, endpoint: fakeProvider.endpoint, attemptMilliseconds: 2000, clock })
}

async function list(
  range: Partial<ProviderRefundRange> = {},
  clock: Clock = quickClock(),
  budgetMilliseconds = 60_000,
) {
  const budget = startBudget(clock, budgetMilliseconds)
  const listed: ProviderRefund[] = []
  const all = { account, from: 0, to: 1_000_000_000, ...range }
  for await (const providerRefund of opened(clock).list(all, budget)) listed.push(providerRefund)
  return listed
}

/** Creates a refund at a time, without a connection. Returns the id of the refund that it pays. */
async function payAt(milliseconds: number, charge = 'ch_1'): Promise<string> {
  jest.setSystemTime(milliseconds)
  const refundId = crypto.randomUUID()
  await create({ charge, amount: '1', 'metadata[refund_id]': refundId })
  return refundId
}

function create(parameters: Record<string, string>): Promise<Response> {
  return fakeProvider.fetch(`${fakeProvider.endpoint}/v1/refunds`, {
    method: 'POST',
    headers: { Authorization: 'Bearer sk_test_1', 'Stripe-Account': account },
    body: String(new URLSearchParams(parameters)),
  })
}

const idsOf = (providerRefunds: readonly ProviderRefund[]) => providerRefunds.map(({ refundId }) => refundId)

describe('the list of an account', () => {
  test('has the refunds of the service with their fields', async () => {
    const asked = request({ account, amount: 700 })
    jest.setSystemTime(5_400)
    await refund(asked)
    const [paid] = paidFor(asked)
    expect(await list()).toEqual([
      {
        id: paid?.id,
        refundId: asked.refundId,
        tenant: asked.tenant,
        requestName: asked.requestName,
        chargeId: asked.chargeId,
        amount: 700,
        currency: 'EUR',
        status: 'succeeded',
        createdAt: 5000,
      },
    ])
  })

  test('has only its own refunds', async () => {
    await refund(request({ account: 'acct_another' }))
    const id = await payAt(0)
    expect(idsOf(await list())).toEqual([id])
  })

  test('has a refund that was created by hand, without a refund id', async () => {
    await create({ charge: 'ch_by_hand', amount: '5' })
    expect(await list()).toMatchObject([{ refundId: undefined, amount: 5 }])
  })

  test('is empty without refunds, after one request', async () => {
    expect(await list()).toEqual([])
    expect(lists()).toHaveLength(1)
  })

  test.each([
    ['requires_action', 'pending'],
    ['pending', 'pending'],
    ['failed', 'failed'],
    ['canceled', 'failed'],
  ])('reports the status %s as %s', async (status, expected) => {
    const fields = {
      id: 're_1',
      object: 'refund',
      amount: 1,
      currency: 'eur',
      created: 1,
      charge: 'ch_1',
      metadata: {},
    }
    const body = { object: 'list', has_more: false, data: [{ ...fields, status }] }
    fakeProvider.faults = () => answered({ status: 200, body })
    expect(await list()).toMatchObject([{ status: expected }])
  })

  test('of an unknown status fails', async () => {
    const data = [{ id: 're_1', amount: 1, currency: 'eur', created: 1, charge: 'ch_1', status: 'odd' }]
    fakeProvider.faults = () => answered({ status: 200, body: { object: 'list', has_more: false, data } })
    await expect(list()).rejects.toThrow('the payment provider returned no refund')
  })

  test('includes the start of a range and excludes its end', async () => {
    const ids = []
    for (const second of [9, 10, 11, 19, 20]) ids.push(await payAt(second * 1000))
    expect(idsOf(await list({ from: 10_000, to: 20_000 }))).toEqual([ids[3], ids[2], ids[1]])
  })

  test('of adjacent ranges has each refund once, also between seconds', async () => {
    const ids = []
    for (const at of [9000, 9999, 10_000, 10_001, 11_000]) ids.push(await payAt(at))
    const halves = [...(await list({ from: 9500 })), ...(await list({ to: 9500 }))]
    expect(idsOf(halves).toSorted()).toEqual(ids.toSorted())
  })

  test('of several pages has each refund once, newest first, with 100 for each request', async () => {
    const ids: string[] = []
    for (let n = 0; n < 205; n += 1) ids.push(await payAt(Math.floor(n / 7) * 1000))
    expect(idsOf(await list())).toEqual(ids.toReversed())
    expect(lists().map(({ parameters }) => parameters.limit)).toEqual(['100', '100', '100'])
  })

  test('of exactly one page needs one request', async () => {
    for (let n = 0; n < 100; n += 1) await payAt(n)
    expect(await list()).toHaveLength(100)
    expect(lists()).toHaveLength(1)
  })

  test('is not read further than its reader wants', async () => {
    for (let n = 0; n < 101; n += 1) await payAt(n)
    const clock = quickClock()
    for await (const _ of opened(clock).list({ account, from: 0, to: 1e9 }, startBudget(clock, 1000))) break
    expect(lists()).toHaveLength(1)
  })
})

describe('one refund', () => {
  const find = (asked: { id?: string; refundId?: string; chargeId?: string }) =>
    opened().find(
      { account, id: undefined, chargeId: 'ch_1', refundId: '', ...asked },
      startBudget(quickClock(), 60_000),
    )

  test('is found by its id', async () => {
    const refundId = await payAt(0)
    const [{ id = '' } = {}] = await list()
    expect(await find({ id })).toMatchObject({ id, refundId })
  })

  test('is found by the refund that it pays', async () => {
    const ids = [await payAt(0, 'ch_shared'), await payAt(0, 'ch_shared'), await payAt(0)]
    expect(await find({ chargeId: 'ch_shared', refundId: ids[0] ?? '' })).toMatchObject({ refundId: ids[0] })
  })

  test('of another account is absent', async () => {
    await refund(request({ account: 'acct_another', chargeId: 'ch_elsewhere' }))
    const [paid] = fakeProvider.refunds().filter(({ charge }) => charge === 'ch_elsewhere')
    expect(await find({ id: String(paid?.id) })).toBeUndefined()
  })

  test('that no payout names is absent', async () => {
    await payAt(0, 'ch_shared')
    expect(await find({ chargeId: 'ch_shared', refundId: 'unknown' })).toBeUndefined()
  })

  test('is looked up again after a temporary failure', async () => {
    await payAt(0)
    const [{ id = '' } = {}] = await list()
    let left = 2
    fakeProvider.faults = () => (left-- > 0 ? answered(error(429, { code: 'rate_limit' })) : undefined)
    expect(await find({ id })).toMatchObject({ id })
  })
})

describe('a failure in the middle of a list', () => {
  beforeEach(async () => {
    for (let n = 0; n < 150; n += 1) await payAt(n * 1000)
  })
  const failSecondPage = (fault: ReturnType<typeof fakeProvider.faults>, times: number) => {
    let left = times
    fakeProvider.faults = (call) => {
      if (!isList(call) || call.parameters.starting_after === undefined || left === 0) return undefined
      left -= 1
      return fault
    }
  }

  test.each([
    ['throttles', answered(error(429, { code: 'rate_limit' }))],
    ['hangs', { when: 'before', how: 'lose' } as const],
    ['resets the connection', { when: 'before', how: 'reset' } as const],
    ['returns the error of a gateway as JSON', answered({ status: 200, body: { message: 'Bad gateway' } })],
    [
      'returns an empty page that is not the last',
      answered({ status: 200, body: { data: [], has_more: true } }),
    ],
  ])('that passes loses and repeats nothing: the provider %s', async (_, fault) => {
    failSecondPage(fault, 2)
    const listed = await list()
    expect(new Set(idsOf(listed)).size).toBe(150)
    expect(listed).toHaveLength(150)
    expect(lists()).toHaveLength(4)
  })

  test.each([
    ['throttles', answered(error(429, { code: 'rate_limit' })), 'DEPENDENCY.unavailable'],
    ['hangs', { when: 'before', how: 'lose' } as const, 'DEPENDENCY.timeout'],
  ])(
    'that stays ends the list with an error after five attempts: the provider %s',
    async (_, fault, code) => {
      failSecondPage(fault, Number.POSITIVE_INFINITY)
      await expect(list()).rejects.toMatchObject({ code })
      expect(lists()).toHaveLength(6)
    },
  )

  test('ends the list at once if the provider rejects the key or the account', async () => {
    failSecondPage(answered(error(403, { code: 'account_invalid' })), 1)
    await expect(list()).rejects.toMatchObject({ code: 'DEPENDENCY.unavailable' })
    expect(lists()).toHaveLength(2)
  })

  test('does not go beyond the budget', async () => {
    failSecondPage(answered(error(429, { code: 'rate_limit' })), Number.POSITIVE_INFINITY)
    const clock = quickClock()
    await expect(list({}, clock, 250)).rejects.toMatchObject({ code: 'DEPENDENCY.timeout' })
    expect(clock.now()).toBeLessThan(250)
  })
})
