import { inspect } from 'node:util'
import { afterAll, beforeEach, describe, expect, jest, test } from '@jest/globals'
import Stripe from 'stripe'
import { type Clock, startBudget } from '#shared/platform/base/clock.ts'
import { describeFault } from '#shared/platform/base/failure.ts'
import type { ProviderRequest } from '#shared/refunds/payment-provider.ts'
import { deployedPaymentProvider } from '#shared/refunds/stripe-provider.ts'
import type { Answer } from '#test/support/payment-provider/stripe-wire.ts'
import {
  adopt,
  answered,
  apiKey,
  callsOf,
  error,
  fakeProvider,
  find,
  injectFault,
  paidFor,
  quickClock,
  refund,
  request,
} from './stripe-requests.ts'

beforeEach(() => {
  fakeProvider.faults = () => undefined
})
afterAll(() => fakeProvider.stop())

describe('a final response of the provider', () => {
  test('of a successful refund has its currency in upper case', async () => {
    const asked = request()
    const outcome = await refund(asked)
    const [paid] = paidFor(asked)
    expect(outcome).toEqual({
      status: 'succeeded',
      providerRefundId: paid?.id,
      currency: 'EUR',
      replayed: false,
    })
    expect(paid).toMatchObject({ amount: 1000, account: 'acct_acme' })
  })

  test('for the same key is the same refund, marked as replayed', async () => {
    const asked = request()
    const first = await refund(asked)
    expect(await refund(asked)).toEqual({ ...first, replayed: true })
    expect(paidFor(asked)).toHaveLength(1)
  })

  test('of a pending refund is accepted', async () => {
    expect(await refund(request({ chargeId: 'ch_pending_1' }))).toMatchObject({ status: 'pending' })
  })

  test.each([
    ['requires_action', 'pending'],
    ['failed', 'failed'],
    ['canceled', 'failed'],
  ])('of a refund that is %s: %s', async (status, expected) => {
    const asked = request()
    injectFault(
      asked,
      answered({ status: 200, body: { id: 're_1', object: 'refund', currency: 'eur', status } }),
    )
    const outcome = await refund(asked)
    expect(outcome).toMatchObject({ status: expected })
    expect(outcome).toMatchObject({ providerRefundId: 're_1', currency: 'EUR' })
  })

  test('of a refund without a currency is accepted', async () => {
    const asked = request()
    injectFault(asked, answered({ status: 200, body: { id: 're_1', object: 'refund', status: 'succeeded' } }))
    expect(await refund(asked)).toMatchObject({ status: 'succeeded', currency: undefined })
  })

  test('is specific to the account of the charge', async () => {
    const whole = request({ amount: 100_000 })
    expect(await refund(whole)).toMatchObject({ status: 'succeeded' })
    const other = { ...whole, account: 'acct_other' }
    expect(await refund(other)).toMatchObject({ status: 'succeeded', replayed: false })
    expect(await refund({ ...whole, refundId: 'other', requestName: 'another' })).toEqual({
      status: 'rejected',
      reason: 'exceeds_charge',
      remaining: 0,
    })
  })

  test.each<[string, Partial<ProviderRequest>, string]>([
    ['a charge that does not exist', { chargeId: 'unknown' }, 'no_such_charge'],
    ['more than was captured', { amount: 100_001 }, 'exceeds_charge'],
    ['a charge that cannot be refunded', { chargeId: 'ch_declined_1' }, 'declined'],
  ])('to %s is the same rejection each time', async (_, changes, reason) => {
    const asked = request(changes)
    expect(await refund(asked)).toMatchObject({ status: 'rejected', reason })
    expect(await refund(asked)).toMatchObject({ status: 'rejected', reason })
    expect(paidFor(asked)).toEqual([])
  })

  const partly = 'Refund amount (€25.00) is greater than unrefunded amount on charge (€10.00)'
  test.each<[string, Answer, string]>([
    [
      'an excessive amount, for which Stripe has no code',
      error(400, { param: 'amount', message: partly }),
      'exceeds_charge',
    ],
    ['another parameter that is too great', error(400, { param: 'fee', message: partly }), 'declined'],
    [
      'an amount too small',
      error(400, { param: 'amount', message: 'Amount must be at least 1 cent' }),
      'declined',
    ],
    ['a charge refunded in full', error(400, { code: 'charge_already_refunded' }), 'exceeds_charge'],
    ['a charge that is disputed', error(400, { code: 'charge_disputed' }), 'declined'],
    ['a card error', error(402, { type: 'card_error', code: 'card_declined' }), 'declined'],
    ['a permanent conflict', error(409, { code: 'charge_not_refundable' }), 'declined'],
    ['a charge of another mode', error(400, { code: 'resource_missing' }), 'no_such_charge'],
  ])('%s', async (_, answer, reason) => {
    const asked = request()
    injectFault(asked, answered(answer))
    expect(await refund(asked)).toMatchObject({ status: 'rejected', reason })
    expect(callsOf(asked)).toHaveLength(1)
  })

  test('that the amount exceeds the charge has the rest of the charge', async () => {
    await refund(request({ chargeId: 'ch_partly', amount: 99_000 }))
    const asked = request({ chargeId: 'ch_partly', amount: 1001 })
    expect(await refund(asked)).toEqual({ status: 'rejected', reason: 'exceeds_charge', remaining: 1000 })
  })

  test('that the amount exceeds the charge counts without the rest if Stripe does not return it', async () => {
    const asked = request({ chargeId: 'px_absent' })
    injectFault(asked, answered(error(400, { code: 'charge_already_refunded' })))
    expect(await refund(asked)).toEqual({
      status: 'rejected',
      reason: 'exceeds_charge',
      remaining: undefined,
    })
  })

  test('that the amount exceeds the charge counts without the rest if the client fails to ask for it', async () => {
    const { charges } = new Stripe(apiKey)
    const retrieve = jest.spyOn(Object.getPrototypeOf(charges), 'retrieve').mockImplementation(() => {
      throw new TypeError('this client has no charges')
    })
    try {
      const outcome = await refund(request({ amount: 100_001 }))
      expect(outcome).toEqual({ status: 'rejected', reason: 'exceeds_charge', remaining: undefined })
    } finally {
      retrieve.mockRestore()
    }
  })

  test('to another refund with the key of a refund is an internal error', async () => {
    const asked = request({ usesOwnKey: true })
    await refund(asked)
    const attempt = refund({ ...asked, amount: 2000 })
    await expect(attempt).rejects.toMatchObject({ name: 'Error', message: expect.stringContaining('key') })
  })
})

describe('an internal error of the service', () => {
  test('that the provider did not cause is not retried', async () => {
    const clock = quickClock()
    const asked: ProviderRequest = {
      ...request(),
      get requestedSince(): number {
        throw new Error('broken')
      },
    }
    await expect(refund(asked, { clock })).rejects.toThrow('broken')
    expect(clock.slept).toEqual([])
  })

  test.each([
    [401, {}],
    [401, { code: 'api_key_expired' }],
    [403, {}],
  ])('for a rejected key (%d) is not retried', async (status, of) => {
    const asked = request()
    injectFault(asked, answered(error(status, of)))
    const failure = { code: 'DEPENDENCY.unavailable', causedByCaller: false }
    await expect(refund(asked)).rejects.toMatchObject(failure)
    expect(callsOf(asked)).toHaveLength(1)
  })

  test('is none of the service if the account ended the access of its key', async () => {
    const failure = { code: 'DEPENDENCY.unavailable', refusedByTenant: true }
    await expect(refund(request({ account: 'unknown' }))).rejects.toMatchObject(failure)
  })

  test.each([
    [401, 'StripeAuthenticationError'],
    [500, 'StripeAPIError'],
  ])('for a rejected key (%d) has a cause without personal data', async (status, name) => {
    const asked = request({ chargeId: 'ch_secret', refundId: 'secret-id' })
    const message = `Invalid API Key provided: ${apiKey} for ch_secret`
    injectFault(asked, answered(error(status, { code: 'given', message })))
    const failure = await refund(asked).catch((thrown) => thrown)
    expect(describeFault(failure.cause)).toMatchObject({
      name,
      at: expect.arrayContaining([expect.any(String)]),
    })
    expect(failure.cause.message).toMatch(new RegExp(`^${status} given req_\\w+$`))
    const shown = inspect(failure, { depth: 10, showHidden: true })
    for (const secret of [apiKey, 'ch_secret', 'secret-id', 'acct_acme']) expect(shown).not.toContain(secret)
  })
})

describe('a refund that is requested again after the provider may have forgotten its key', () => {
  const days = (count: number) => count * 24 * 3600 * 1000
  const later = (by = days(2)): Clock => {
    const clock = quickClock()
    return { ...clock, now: () => by + clock.now() }
  }

  test('is found by its id from the twentieth hour on, and not paid twice', async () => {
    const asked = request()
    const first = await refund(asked)
    fakeProvider.forgetKeys()
    for (const by of [days(20 / 24), days(2)]) {
      expect(await refund(asked, { clock: later(by) })).toEqual({ ...first, replayed: true, lookedUp: true })
      const { account, chargeId: charge } = asked
      expect(fakeProvider.calls.at(-1)).toMatchObject({ method: 'GET', account, parameters: { charge } })
    }
    expect(paidFor(asked)).toHaveLength(1)
  })

  test('is found by the id of its payout, whatever became of the metadata', async () => {
    const asked = request()
    const first = (await refund(asked)) as { providerRefundId: string }
    Object.assign(paidFor(asked)[0] ?? {}, { metadata: {} })
    const accepted = { ...asked, providerRefundId: first.providerRefundId }
    expect(await refund(accepted, { clock: later() })).toEqual({ ...first, replayed: true, lookedUp: true })
  })

  test.each(['a young one', 'an old one'])(
    'is only read if Stripe has accepted it, whatever it refuses: %s',
    async (age) => {
      const asked = request()
      const { providerRefundId } = (await refund(asked)) as { providerRefundId: string }
      const clock = age === 'an old one' ? later() : quickClock()
      const refusals = [
        answered(error(400, { code: 'account_closed' })),
        answered(error(404, { code: 'resource_missing' })),
      ]
      for (const refusal of refusals) {
        fakeProvider.faults = () => refusal
        const { length } = fakeProvider.calls
        await expect(refund({ ...asked, providerRefundId }, { clock })).rejects.toMatchObject({
          code: 'DEPENDENCY.unavailable',
        })
        expect(fakeProvider.calls.slice(length)).toMatchObject([{ method: 'GET' }])
      }
    },
  )

  test('is not looked up before', async () => {
    const asked = request({ requestedSince: days(2) })
    const count = fakeProvider.calls.length
    await refund(asked, { clock: later() })
    expect(fakeProvider.calls.slice(count)).toMatchObject([{ method: 'POST' }])
  })

  test('is not confused with a refund that another program made', async () => {
    const body = { object: 'list', has_more: false, data: [{ id: 're_1', object: 'refund', metadata: null }] }
    fakeProvider.faults = ({ method }) => (method === 'GET' ? answered({ status: 200, body }) : undefined)
    expect(await refund(request(), { clock: later() })).toMatchObject({
      status: 'succeeded',
      replayed: false,
    })
  })

  test('is paid if it was not, although others of its charge were', async () => {
    const other = request()
    await refund(other)
    const asked = request({ chargeId: other.chargeId })
    const fetches = jest.spyOn(globalThis, 'fetch')
    expect(await refund(asked, { clock: later() })).toMatchObject({ status: 'succeeded', replayed: false })
    expect(paidFor(asked)).toHaveLength(2)
    const sent = JSON.stringify(fetches.mock.calls)
    expect(sent).toContain('Idempotency-Key')
    expect(sent).not.toContain('Telemetry')
  })

  test.each([
    ['that is old', {}],
    ['that the table may have lost', { mayBeLost: true }],
  ])('%s, of a charge that does not exist, is rejected', async (_, changes) => {
    const missing = error(404, { code: 'resource_missing' })
    fakeProvider.faults = ({ method }) => (method === 'GET' ? answered(missing) : undefined)
    const asked = request({ chargeId: 'none', ...changes })
    expect(await refund(asked, { clock: later() })).toEqual({ status: 'rejected', reason: 'no_such_charge' })
  })

  test('would be paid twice by its key alone', async () => {
    const asked = request()
    await refund(asked)
    fakeProvider.forgetKeys()
    await refund(asked)
    expect(paidFor(asked)).toHaveLength(2)
  })
})

describe('a refund whose request had another one before', () => {
  const another = (asked: ProviderRequest): ProviderRequest => ({
    ...asked,
    refundId: `${asked.refundId}-again`,
  })
  const recordOf = (asked: ProviderRequest) => {
    const [paid] = paidFor(asked)
    return { id: paid?.id, refundId: asked.refundId, chargeId: asked.chargeId, amount: 1000, createdAt: 0 }
  }

  test('gets the payout of that one, as its key stands for other parameters', async () => {
    const asked = request()
    await refund(asked)
    expect(await refund(another(asked))).toMatchObject({ status: 'key_used', payout: recordOf(asked) })
    expect(paidFor(asked)).toHaveLength(1)
  })

  test('gets a payout of another charge only if the table may have lost it', async () => {
    const asked = request()
    await refund(asked)
    const other = { ...another(asked), chargeId: 'ch_other_than_before' }
    expect(await refund(other)).toEqual({ status: 'key_used' })
    const known = await refund({ ...other, mayBeLost: true })
    expect(known).toMatchObject({ status: 'key_used', payout: recordOf(asked) })
    expect(paidFor(other)).toEqual([])
  })

  test('gets none if that one was declined', async () => {
    const asked = request({ chargeId: 'ch_declined_before' })
    await refund(asked)
    expect(await refund(another(asked))).toEqual({ status: 'key_used' })
  })

  test('gets its payout by a search first, if the provider may have forgotten its key', async () => {
    const asked = request()
    await refund(asked)
    fakeProvider.forgetKeys()
    const repeated = { ...another(asked), mayBeLost: true }
    expect(await refund(repeated)).toMatchObject({ status: 'key_used', payout: recordOf(asked) })
    expect(paidFor(asked)).toHaveLength(1)
  })

  test('is paid by its own key as another request', async () => {
    const asked = request()
    await refund(asked)
    const own = { ...another(asked), usesOwnKey: true, mayBeLost: true }
    expect(await refund(own)).toMatchObject({ status: 'succeeded', replayed: false })
    expect(callsOf(own)).toMatchObject([{ key: `refund-${own.refundId}` }])
    expect(paidFor(asked)).toHaveLength(2)
    const [, second] = paidFor(asked)
    expect(await find(own)).toMatchObject({ providerRefundId: second?.id })
    expect(await find({ ...own, refundId: 'never-asked' })).toBeUndefined()
  })

  test('is answered with a failure to search, not with a refusal', async () => {
    const asked = request()
    await refund(asked)
    fakeProvider.faults = ({ method }) => (method === 'GET' ? answered(error(401, {})) : undefined)
    await expect(refund(another(asked))).rejects.toMatchObject({ code: 'DEPENDENCY.unavailable' })
  })

  test('is known by its id at the provider once it has adopted the payout', async () => {
    const asked = request()
    const { providerRefundId: id } = (await refund(asked)) as { providerRefundId: string }
    const adopting = another(asked)
    const facts = { status: 'succeeded', providerRefundId: id, currency: 'EUR' }
    const expected = { ...facts, replayed: true, lookedUp: true }
    for (const _ of [1, 2]) expect(await adopt(id, adopting)).toEqual(expected)
    expect(await find(adopting)).toEqual(expected)
    expect(await refund(adopting)).toEqual(expected)
    expect(await find(asked)).toBeUndefined()
    expect(paidFor(asked)).toHaveLength(1)
  })
})

describe('a question about a refund', () => {
  const asksOf = ({ chargeId }: ProviderRequest) =>
    fakeProvider.calls.filter(({ method, parameters }) => method === 'GET' && parameters.charge === chargeId)

  test.each([
    ['pending', 'pending'],
    ['succeeded', 'succeeded'],
    ['failed', 'failed'],
  ] as const)('that is %s by now returns that status with the facts', async (status, expected) => {
    const asked = request({ chargeId: `ch_pending_asked_${status}` })
    await refund(asked)
    const [paid] = paidFor(asked)
    Object.assign(paid ?? {}, { status })
    expect(await find(asked)).toEqual({
      status: expected,
      providerRefundId: paid?.id,
      currency: 'EUR',
      replayed: true,
      lookedUp: true,
    })
  })

  test('in an account that ended the access is no failure of the service', async () => {
    const failure = { code: 'DEPENDENCY.unavailable', refusedByTenant: true }
    await expect(find(request({ account: 'unknown' }))).rejects.toMatchObject(failure)
  })

  test('that was never made returns nothing, and makes none', async () => {
    const asked = request()
    expect(await find(asked)).toBeUndefined()
    expect(paidFor(asked)).toEqual([])
  })

  test('is repeated while the provider fails temporarily', async () => {
    const asked = request()
    await refund(asked)
    let left = 2
    fakeProvider.faults = () => (left-- > 0 ? answered(error(503, {})) : undefined)
    expect(await find(asked)).toMatchObject({ status: 'succeeded' })
    expect(asksOf(asked)).toHaveLength(3)
  })

  test('ends with the time of the request, however many pages of refunds the charge has', async () => {
    const clock = quickClock()
    const data = [{ id: 're_1', object: 'refund', metadata: {} }]
    fakeProvider.faults = () => {
      clock.slept.push(1000)
      const has_more = clock.slept.length < 20
      return answered({ status: 200, body: { object: 'list', url: '/v1/refunds', has_more, data } })
    }
    const found = find(request(), { clock, budgetMilliseconds: 3000 })
    await expect(found).rejects.toMatchObject({ code: 'DEPENDENCY.timeout' })
  })

  test.each([
    ['of an unknown charge', error(404, { code: 'resource_missing' })],
    ['with credentials that are refused', error(401, {})],
  ])('%s is no outcome of the refund', async (_, answer) => {
    fakeProvider.faults = () => answered(answer)
    await expect(find(request())).rejects.toMatchObject({ code: 'DEPENDENCY.unavailable' })
  })
})

test('the provider of a deployment has its endpoint, its key and the trace of the request', async () => {
  const clock = quickClock()
  const trace = { traceparent: '00-1-1-01', tracestate: 'a=1' }
  const provider = await deployedPaymentProvider({
    settings: { 'refunds.provider': { endpoint: fakeProvider.endpoint, attemptMilliseconds: 2000 } },
    clock,
    correlation: { id: 'c1', trace },
    secret: async (name: string) => `sk_${name}`,
  } as never)
  const asked = request()
  expect(await provider.refund(asked, startBudget(clock, 60_000))).toMatchObject({ status: 'succeeded' })
  expect(callsOf(asked)).toMatchObject([{ trace, authorized: true }])
})

test('a refund that the provider has accepted is looked up by its id, whatever became of its metadata', async () => {
  const asked = request()
  const accepted = await refund(asked)
  if (!('providerRefundId' in accepted)) throw new Error('it was not accepted')
  const { providerRefundId } = accepted
  const [paid] = paidFor(asked)
  Object.assign(paid ?? {}, { metadata: {} })
  const expected = { status: 'succeeded', providerRefundId, currency: 'EUR' }
  expect(await find({ ...asked, providerRefundId })).toMatchObject(expected)
  expect(await find({ ...asked, providerRefundId: 're_unknown' })).toBeUndefined()
  expect(await find({ ...asked, account: 'acct_other', providerRefundId })).toBeUndefined()
})
