import { createServer } from 'node:net'
import { afterAll, afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import fc from 'fast-check'
import { type Clock, systemClock } from '#shared/platform/base/clock.ts'
import type { EarlierUse, ProviderOutcome } from '#shared/refunds/payment-provider.ts'
import { freePort } from '#test/support/free-port.ts'
import type { Fault } from '#test/support/payment-provider/payment-provider.ts'
import { serverError } from '#test/support/payment-provider/stripe-wire.ts'
import { runs } from '#test/support/runs.ts'
import {
  answered,
  callsOf,
  error,
  fakeProvider,
  injectFault,
  keyOf,
  paidFor,
  quickClock,
  refund,
  request,
} from './stripe-requests.ts'

/** Lets the fake provider and its clients go on. */
const turn = () => new Promise((resolve) => setImmediate(resolve))

beforeEach(() => {
  fakeProvider.faults = () => undefined
})
afterEach(() => {
  jest.restoreAllMocks()
})
afterAll(() => fakeProvider.stop())

describe('a temporary failure is retried', () => {
  test.each<[string, Fault]>([
    ['a 500 before the execution', answered(serverError())],
    ['a 500 after the execution', { when: 'after', how: serverError() }],
    ['a 503', answered(serverError(503))],
    ['a 429', answered(error(429, { code: 'rate_limit' }))],
    ['a rate limit with status 400', answered(error(400, { code: 'rate_limit' }))],
    ['a charge that is locked by another request', answered(error(409, { code: 'lock_timeout' }))],
    ['a conflict without a code', answered(error(409, {}))],
    ['a 502 of a gateway', answered({ status: 502, body: { message: 'Bad gateway' } })],
    ['a connection reset before the execution', { when: 'before', how: 'reset' }],
    ['a connection reset after the execution', { when: 'after', how: 'reset' }],
    ['a lost request', { when: 'before', how: 'lose' }],
    ['a lost response', { when: 'after', how: 'lose' }],
  ])('%s', async (_, fault) => {
    const asked = request()
    injectFault(asked, fault, 2)
    const outcome = await refund(asked, { attemptMilliseconds: 300 })
    expect(outcome).toMatchObject({ status: 'succeeded' })
    expect(callsOf(asked)).toHaveLength(3)
    expect(paidFor(asked)).toHaveLength(1)
  })

  test('a slow response: one payout, and the refund of the first attempt', async () => {
    const asked = request({ chargeId: 'ch_slow_1' })
    const outcome = await refund(asked, { attemptMilliseconds: 300 })
    const [paid, ...more] = paidFor(asked)
    expect(outcome).toMatchObject({ status: 'succeeded', providerRefundId: paid?.id, replayed: true })
    expect(more).toEqual([])
    expect(callsOf(asked)).toHaveLength(2)
  })

  test('a key whose first request is in progress', async () => {
    const asked = request()
    const work = Promise.withResolvers<void>()
    injectFault(asked, { until: work.promise }, 1)
    const first = refund(asked)
    while (callsOf(asked).length === 0) await turn()
    const clock = quickClock()
    const sleep = async (milliseconds: number) => {
      work.resolve()
      await first
      await clock.sleep(milliseconds)
    }
    const second = await refund(asked, { clock: { ...clock, sleep } })
    expect(clock.slept).toEqual([100])
    expect(second).toEqual({ ...(await first), replayed: true })
    expect(paidFor(asked)).toHaveLength(1)
  })
})

describe('the schedule', () => {
  const down = answered(serverError(503))

  test.each([
    [0, [100, 200, 400, 800]],
    [0.5, [150, 300, 600, 1200]],
    [0.999_999_999, [200, 400, 800, 1600]],
  ])('has five attempts, with delays drawn from their ranges (%d)', async (jitter, delays) => {
    const asked = request()
    const clock = quickClock(jitter)
    injectFault(asked, down)
    await expect(refund(asked, { clock })).rejects.toMatchObject({ code: 'DEPENDENCY.unavailable' })
    expect(callsOf(asked)).toHaveLength(5)
    expect(clock.slept.map(Math.round)).toEqual(delays)
  })

  test('is kept by the clock of the system', async () => {
    const asked = request()
    injectFault(asked, down, 2)
    const started = Date.now()
    const sleep = (milliseconds: number) => {
      const slept = systemClock.sleep(milliseconds)
      jest.advanceTimersToNextTimer()
      return slept
    }
    await refund(asked, { clock: { ...systemClock, jitter: () => 0, sleep } })
    expect(Date.now() - started).toBe(100 + 200)
  })

  test.each<[string, number, string, number, number?]>([
    ['as requested', 503, '1', 1000],
    ['of too many requests', 429, '1', 1000],
    ['up to two seconds', 503, '2', 2000],
    ['not longer than two seconds', 503, '3', 100],
    ['not shorter than drawn', 503, '0', 100],
    ['not by a date', 503, 'Fri, 31 Dec 2027 23:59:59 GMT', 100],
    ['not of other statuses', 500, '1', 100],
    ['not beyond the budget', 429, '2', 100, 2000],
  ])(
    'honors a Retry-After within its limits: %s',
    async (_, status, seconds, delay, budgetMilliseconds = 60_000) => {
      const asked = request()
      const clock = quickClock()
      injectFault(asked, answered({ ...error(status, {}), headers: { 'Retry-After': seconds } }), 1)
      await refund(asked, { clock, budgetMilliseconds })
      expect(clock.slept).toEqual([delay])
    },
  )

  test('ends if the provider never responds', async () => {
    const asked = request()
    injectFault(asked, { when: 'before', how: 'lose' })
    const started = Date.now()
    const attempt = refund(asked, { attemptMilliseconds: 50 })
    await expect(attempt).rejects.toMatchObject({ code: 'DEPENDENCY.timeout' })
    expect(callsOf(asked)).toHaveLength(5)
    expect(Date.now() - started).toBe(5 * 50)
  })

  test('ends if the provider starts a response and never finishes it', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 10000\r\n\r\n{')
    })
    const port = await freePort()
    server.listen(port, '127.0.0.1')
    const { fetch } = globalThis
    jest.spyOn(globalThis, 'fetch').mockImplementation(async (...asked) => {
      const started = await fetch(...asked)
      setImmediate(() => jest.advanceTimersToNextTimer())
      return started
    })
    const started = Date.now()
    const attempt = refund(request(), { endpoint: `http://127.0.0.1:${port}`, attemptMilliseconds: 100 })
    await expect(attempt).rejects.toMatchObject({ code: 'DEPENDENCY.timeout' })
    expect(Date.now() - started).toBe(5 * 100)
    server.close()
  })

  test('ends if the provider has no certificate', async () => {
    const asked = request()
    const attempt = refund(asked, { endpoint: fakeProvider.endpoint.replace('http:', 'https:') })
    await expect(attempt).rejects.toMatchObject({ code: 'DEPENDENCY.unavailable' })
    expect(callsOf(asked)).toEqual([])
  })

  test('ends if the provider is unreachable', async () => {
    const clock = quickClock()
    const attempt = refund(request(), { clock, endpoint: `http://127.0.0.1:${await freePort()}` })
    await expect(attempt).rejects.toMatchObject({ code: 'DEPENDENCY.unavailable' })
    expect(clock.slept).toHaveLength(4)
  })

  test('ends after ten seconds, regardless of the budget', async () => {
    const asked = request()
    const clock = quickClock()
    injectFault(asked, down)
    // Each attempt takes nine times as long as the delay before it.
    const slow: Clock = { ...clock, now: () => clock.now() * 10 }
    await expect(refund(asked, { clock: slow })).rejects.toMatchObject({ code: 'DEPENDENCY.timeout' })
    expect(clock.slept).toEqual([100, 200, 400, 800])
    expect(callsOf(asked)).toHaveLength(4)
  })
})

describe('the budget', () => {
  test('makes no attempt if nothing is left', async () => {
    const asked = request()
    const attempt = refund(asked, { budgetMilliseconds: 0 })
    await expect(attempt).rejects.toMatchObject({ code: 'DEPENDENCY.timeout' })
    expect(callsOf(asked)).toEqual([])
  })

  test('makes an attempt in the last millisecond', async () => {
    expect(await refund(request(), { budgetMilliseconds: 1 })).toMatchObject({ status: 'succeeded' })
  })

  test('starts no delay that takes the rest', async () => {
    const asked = request()
    const clock = quickClock()
    injectFault(asked, answered(serverError(503)))
    const failure = await refund(asked, { clock, budgetMilliseconds: 700 }).catch((thrown) => thrown)
    expect(failure.code).toBe('DEPENDENCY.timeout')
    expect(failure.cause.message).toMatch(/^503 req_\w+$/)
    expect(clock.slept).toEqual([100, 200])
  })

  test('ends an attempt', async () => {
    const asked = request()
    injectFault(asked, { when: 'after', how: 'lose' }, 1)
    const started = Date.now()
    const attempt = refund(asked, {
      clock: systemClock,
      budgetMilliseconds: 200,
      attemptMilliseconds: 10_000,
    })
    await expect(attempt).rejects.toMatchObject({ code: 'DEPENDENCY.timeout' })
    expect(Date.now() - started).toBe(200)
    expect(await refund(asked)).toMatchObject({ status: 'succeeded', replayed: true })
    expect(paidFor(asked)).toHaveLength(1)
  })
})

const anyFault = fc.constantFrom<Fault | undefined>(
  undefined,
  answered(serverError(503)),
  ...(['before', 'after'] as const).flatMap((when) => [
    { when, how: serverError() },
    { when, how: 'reset' as const },
    { when, how: 'lose' as const },
  ]),
)

test('with any failures in between, one key is one refund', async () => {
  const schedules = fc.array(anyFault, { minLength: 1, maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(schedules, async (faults) => {
      const asked = request()
      fakeProvider.faults = ({ key }) =>
        key === keyOf(asked) ? faults[callsOf(asked).length - 1] : undefined
      const settled = async (left = faults.length): Promise<ProviderOutcome | EarlierUse> =>
        refund(asked, { attemptMilliseconds: 40 }).catch((thrown) => {
          expect(thrown.code).toMatch(/^DEPENDENCY\.(timeout|unavailable)$/)
          expect(left).toBeGreaterThan(0)
          return settled(left - 1)
        })
      const outcome = await settled()
      const [paid, ...more] = paidFor(asked)
      expect(outcome).toMatchObject({ status: 'succeeded', providerRefundId: paid?.id })
      expect(more).toEqual([])
    }),
    { ...runs(40) },
  )
})
