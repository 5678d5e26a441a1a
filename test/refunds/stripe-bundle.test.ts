import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { bundle } from '#bin/bundle.ts'
import { ROOT } from '#bin/local/environment.ts'
import { startBudget } from '#shared/platform/base/clock.ts'
import { hasGo, startStripeMock } from '#test/support/payment-provider/stripe-mock.ts'
import { apiKey, fakeProvider, paidFor, quickClock, refund, request } from './stripe-requests.ts'

afterAll(() => fakeProvider.stop())

test('a bundled function requests refunds', async () => {
  const outdir = await mkdtemp(join(tmpdir(), 'commerce-refunds-'))
  try {
    const entries = { refunds: join(ROOT, 'shared/refunds/stripe-provider.ts') }
    const { refunds } = await bundle({ entries, outdir, settings: '{}' })
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
    // The client has one entry point, which contains all of Stripe's resources.
    expect(refunds?.bytes).toBeLessThan(300_000)
  } finally {
    await rm(outdir, { recursive: true, force: true })
  }
})

/** Registered only if it can run. */
if (hasGo) {
  describe('stripe-mock (requires Go)', () => {
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

    test('rejects an invalid request', async () => {
      const outcome = await refund(request({ amount: 0.5 }), { endpoint: mock.endpoint })
      expect(outcome).toEqual({ status: 'rejected', reason: 'declined' })
    })
  })
}
