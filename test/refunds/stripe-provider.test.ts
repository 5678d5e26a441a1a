import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { bundle } from '#bin/bundle.ts'
import { ROOT } from '#bin/local/environment.ts'
import type { Clock } from '#shared/platform/base/clock.ts'
import { startBudget } from '#shared/platform/base/clock.ts'
import { describeFault } from '#shared/platform/base/log.ts'
import type { ProviderRequest } from '#shared/refunds/payment-provider.ts'
import { hasGo, startStripeMock } from '#test/support/payment-provider/stripe-mock.ts'
import type { Answer } from '#test/support/payment-provider/stripe-wire.ts'
import {
  answered,
  apiKey,
  callsOf,
  double,
  error,
  paidFor,
  quickClock,
  refund,
  request,
  strike,
} from './stripe-requests.ts'

beforeEach(() => {
  double.faults = () => undefined
})
afterAll(() => double.stop())

describe('what the provider says for good', () => {
  test('a refund that succeeded, with its currency in upper case', async () => {
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

  test('the same key is the same refund, and says that it is replayed', async () => {
    const asked = request()
    const first = await refund(asked)
    expect(await refund(asked)).toEqual({ ...first, replayed: true })
    expect(paidFor(asked)).toHaveLength(1)
  })

  test('a refund that is pending is accepted', async () => {
    expect(await refund(request({ chargeId: 'ch_pending_1' }))).toMatchObject({ status: 'pending' })
  })

  test.each([
    ['requires_action', 'pending'],
    ['failed', 'rejected'],
    ['canceled', 'rejected'],
  ])('a refund that is %s: %s', async (status, expected) => {
    const asked = request()
    strike(asked, answered({ status: 200, body: { id: 're_1', object: 'refund', currency: 'eur', status } }))
    const outcome = await refund(asked)
    expect(outcome).toMatchObject({ status: expected })
    if (outcome.status === 'rejected') expect(outcome.reason).toBe('declined')
  })

  test('charges of one account are not those of another', async () => {
    const whole = request({ amount: 100_000 })
    expect(await refund(whole)).toMatchObject({ status: 'succeeded' })
    const other = { ...whole, account: 'acct_other' }
    expect(await refund(other)).toMatchObject({ status: 'succeeded', replayed: false })
    expect(await refund({ ...whole, refundId: 'other' })).toEqual({
      status: 'rejected',
      reason: 'exceeds_charge',
    })
  })

  test.each<[string, Partial<ProviderRequest>, string]>([
    ['a charge that does not exist', { chargeId: 'unknown' }, 'no_such_charge'],
    ['an account that does not exist', { account: 'unknown' }, 'no_such_charge'],
    ['more than was captured', { amount: 100_001 }, 'exceeds_charge'],
    ['a charge that is never refunded', { chargeId: 'ch_declined_1' }, 'declined'],
  ])('%s is refused, and alike each time', async (_, changes, reason) => {
    const asked = request(changes)
    expect(await refund(asked)).toEqual({ status: 'rejected', reason })
    expect(await refund(asked)).toEqual({ status: 'rejected', reason })
    expect(paidFor(asked)).toEqual([])
  })

  const partly = 'Refund amount (€25.00) is greater than unrefunded amount on charge (€10.00)'
  test.each<[string, Answer, string]>([
    [
      'an amount too large, of which Stripe tells no code',
      error(400, { param: 'amount', message: partly }),
      'exceeds_charge',
    ],
    [
      'an amount too small',
      error(400, { param: 'amount', message: 'Amount must be at least 1 cent' }),
      'declined',
    ],
    ['a charge refunded in full', error(400, { code: 'charge_already_refunded' }), 'exceeds_charge'],
    ['a charge that is disputed', error(400, { code: 'charge_disputed' }), 'declined'],
    ['a card error', error(402, { type: 'card_error', code: 'card_declined' }), 'declined'],
    ['a conflict for good', error(409, { code: 'charge_not_refundable' }), 'declined'],
    ['a charge missing in a key’s mode', error(400, { code: 'resource_missing' }), 'no_such_charge'],
    ['an account out of reach', error(401, { code: 'account_invalid' }), 'no_such_charge'],
  ])('%s', async (_, answer, reason) => {
    const asked = request()
    strike(asked, answered(answer))
    expect(await refund(asked)).toEqual({ status: 'rejected', reason })
    expect(callsOf(asked)).toHaveLength(1)
  })

  test('another refund under a known key is a fault of the service', async () => {
    const asked = request()
    await refund(asked)
    const attempt = refund({ ...asked, amount: 2000 })
    await expect(attempt).rejects.toMatchObject({ name: 'Error', message: expect.stringContaining('key') })
  })
})

describe('what is wrong with the service itself', () => {
  test.each([
    [401, {}],
    [401, { code: 'api_key_expired' }],
    [403, {}],
  ])('a key that is refused (%d) is not tried again', async (status, of) => {
    const asked = request()
    strike(asked, answered(error(status, of)))
    await expect(refund(asked)).rejects.toMatchObject({ code: 'DEPENDENCY.unavailable' })
    expect(callsOf(asked)).toHaveLength(1)
  })

  test.each([
    [401, 'StripeAuthenticationError'],
    [500, 'StripeAPIError'],
  ])('the cause says what, and quotes nobody (%d)', async (status, name) => {
    const asked = request({ chargeId: 'ch_secret', refundId: 'secret-id' })
    const message = `Invalid API Key provided: ${apiKey} for ch_secret`
    strike(asked, answered(error(status, { code: 'told', message })))
    const failure = await refund(asked).catch((thrown) => thrown)
    expect(describeFault(failure.cause)).toMatchObject({
      name,
      at: expect.arrayContaining([expect.any(String)]),
    })
    expect(failure.cause.message).toMatch(new RegExp(`^${status} told req_\\w+$`))
    const shown = inspect(failure, { depth: 10, showHidden: true })
    for (const secret of [apiKey, 'ch_secret', 'secret-id', 'acct_acme']) expect(shown).not.toContain(secret)
  })
})

test('a bundled function asks for refunds', async () => {
  const outdir = await mkdtemp(join(tmpdir(), 'commerce-refunds-'))
  try {
    const entries = { refunds: join(ROOT, 'shared/refunds/stripe-provider.ts') }
    const { refunds } = await bundle({ entries, outdir, settings: '{}' })
    const { stripeProvider: bundled } = await import(join(outdir, 'refunds/index.mjs'))
    const asked = request()
    const provider = bundled({
      apiKey,
      endpoint: double.endpoint,
      attemptMilliseconds: 2000,
      clock: quickClock(),
    })
    const outcome = await provider.refund(asked, startBudget(quickClock(), 5000))
    expect(outcome).toMatchObject({ status: 'succeeded', replayed: false })
    expect(paidFor(asked)).toHaveLength(1)
    // The client has one entry, and it brings all of Stripe's resources.
    expect(refunds?.bytes).toBeLessThan(300_000)
  } finally {
    await rm(outdir, { recursive: true, force: true })
  }
})

/** Registered only where it can run. */
if (hasGo) {
  describe('Stripe’s own mock (skipped where there is no Go to build it with)', () => {
    let mock: Awaited<ReturnType<typeof startStripeMock>>
    beforeAll(async () => {
      mock = await startStripeMock()
    }, 300_000)
    afterAll(() => mock?.stop())

    test('it takes the request for one of Stripe’s API, and its refund for one', async () => {
      const outcome = await refund(request(), { endpoint: mock.endpoint })
      expect(outcome).toMatchObject({
        status: 'succeeded',
        providerRefundId: expect.stringMatching(/^re_/),
      })
    })

    test('what it refuses is refused', async () => {
      const outcome = await refund(request({ amount: 0.5 }), { endpoint: mock.endpoint })
      expect(outcome).toEqual({ status: 'rejected', reason: 'declined' })
    })
  })
}

describe('a refund that is asked for again when the provider may have forgotten its key', () => {
  const days = (count: number) => count * 24 * 3600 * 1000
  const later = (): Clock => {
    const clock = quickClock()
    return { ...clock, now: () => days(2) + clock.now() }
  }

  test('is found by its id, and not paid a second time', async () => {
    const asked = request()
    const first = await refund(asked)
    double.forgetKeys()
    const again = await refund(asked, { clock: later() })
    expect(again).toEqual({ ...first, replayed: true })
    expect(paidFor(asked)).toHaveLength(1)
  })

  test('is paid if it was not, though others of its charge were', async () => {
    const other = request()
    await refund(other)
    const asked = request({ chargeId: other.chargeId })
    expect(await refund(asked, { clock: later() })).toMatchObject({ status: 'succeeded', replayed: false })
    expect(paidFor(asked)).toHaveLength(2)
  })

  test('would be paid twice by its key alone', async () => {
    const asked = request()
    await refund(asked)
    double.forgetKeys()
    await refund(asked)
    expect(paidFor(asked)).toHaveLength(2)
  })
})
