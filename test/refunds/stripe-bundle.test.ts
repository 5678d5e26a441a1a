import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { bundle } from '#bin/build/bundle.ts'
import { ROOT } from '#bin/local/environment.ts'
import { startBudget } from '#shared/platform/base/clock.ts'
import { stripeRefunds } from '#shared/refunds/list-stripe-refunds.ts'
import { startStripeMock } from '#test/support/payment-provider/stripe-mock.ts'
import { signedByStripe, stripeEventOf, stripeSecret } from '#test/support/stripe-events.ts'
import { adopt, apiKey, fakeProvider, paidFor, quickClock, refund, request } from './stripe-requests.ts'

afterAll(() => fakeProvider.stop())

test('a bundled function requests and adopts refunds, and reads what is left of a charge', async () => {
  const outdir = await mkdtemp(join(tmpdir(), 'commerce-refunds-'))
  try {
    const entries = { refunds: join(ROOT, 'shared/refunds/stripe-provider.ts') }
    await bundle({ entries, outdir, settings: '{}' })
    const { stripeProvider: bundled } = await import(join(outdir, 'refunds/index.mjs'))
    const asked = request()
    const provider = bundled({
      apiKey,
      endpoint: fakeProvider.endpoint,
      attemptMilliseconds: 2000,
      clock: quickClock(),
    })
    const outcome = await provider.refund(asked, startBudget(quickClock(), 5000))
    expect(outcome).toMatchObject({ status: 'succeeded', replayed: false })
    expect(paidFor(asked)).toHaveLength(1)
    await provider.adopt(
      outcome.providerRefundId,
      { ...asked, refundId: 'new' },
      startBudget(quickClock(), 5000),
    )
    expect(paidFor(asked)).toMatchObject([{ metadata: { refund_id: 'new', request: asked.requestName } }])
    const excessive = request({ chargeId: asked.chargeId, amount: 99_001 })
    expect(await provider.refund(excessive, startBudget(quickClock(), 5000))).toEqual({
      status: 'rejected',
      reason: 'exceeds_charge',
      remaining: 99_000,
    })
  } finally {
    await rm(outdir, { recursive: true, force: true })
  }
})

test('a bundled function verifies the signatures of events', async () => {
  const outdir = await mkdtemp(join(tmpdir(), 'commerce-events-'))
  try {
    const entries = { events: join(ROOT, 'shared/webhooks/stripe-signature.ts') }
    await bundle({ entries, outdir, settings: '{}' })
    const { verifyStripe: bundled } = await import(join(outdir, 'events/index.mjs'))
    const payload = JSON.stringify(stripeEventOf('refund.updated', { id: 're_1' }))
    const headers = { 'stripe-signature': signedByStripe(payload)['Stripe-Signature'] }
    const verify = (body: string) =>
      bundled({
        request: { headers, body: Buffer.from(body) },
        secret: async () => stripeSecret,
        now: Date.now,
      })
    await expect(verify(payload)).resolves.toBeUndefined()
    await expect(verify(`${payload} `)).rejects.toMatchObject({ code: 'AUTH.invalid_credentials' })
  } finally {
    await rm(outdir, { recursive: true, force: true })
  }
})

describe('stripe-mock', () => {
  let mock: Awaited<ReturnType<typeof startStripeMock>>
  beforeAll(async () => {
    mock = await startStripeMock()
  }, 300_000)
  afterAll(() => mock?.stop())

  test('accepts the request as one of Stripe’s API, and returns a valid refund', async () => {
    const outcome = await refund(request(), { endpoint: mock.endpoint })
    expect(outcome).toMatchObject({
      status: 'succeeded',
      providerRefundId: expect.stringMatching(/^re_/),
    })
  })

  test('accepts a search before the request, and a change of the metadata', async () => {
    const { endpoint } = mock
    const outcome = await refund(request({ mayBeLost: true }), { endpoint })
    expect(outcome).toMatchObject({ status: 'succeeded', providerRefundId: expect.stringMatching(/^re_/) })
    expect(await adopt('re_1', request(), { endpoint })).toMatchObject({ status: 'succeeded' })
  })

  test('rejects an invalid request', async () => {
    const outcome = await refund(request({ amount: 0.5 }), { endpoint: mock.endpoint })
    expect(outcome).toEqual({ status: 'rejected', reason: 'declined' })
  })

  describe('accepts', () => {
    const clock = quickClock()
    const providerRefunds = () =>
      stripeRefunds({ apiKey, endpoint: mock.endpoint, attemptMilliseconds: 2000, clock })
    const budget = startBudget(clock, 5000)
    const account = 'acct_1'

    test('the list of a time range, and returns valid refunds', async () => {
      const range = { account, from: 1_700_000_000_500, to: 1_800_000_000_500 }
      for await (const providerRefund of providerRefunds().list(range, budget))
        expect(providerRefund).toMatchObject({ id: expect.stringMatching(/^re_/), currency: 'USD' })
      expect.hasAssertions()
    })

    test('the look-up of a refund by its id', async () => {
      const asked = { account, id: 're_1', chargeId: 'ch_1', refundId: 'one' }
      expect(await providerRefunds().find(asked, budget)).toMatchObject({ id: 're_1', status: 'succeeded' })
    })

    test('the look-up of a refund by its charge', async () => {
      const asked = { account, id: undefined, chargeId: 'ch_1', refundId: 'one' }
      expect(await providerRefunds().find(asked, budget)).toBeUndefined()
    })
  })
})
