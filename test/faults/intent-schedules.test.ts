import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { Answer } from '#test/support/service.ts'
import { localSettings } from '#test/support/settings.ts'
import type { Fault } from './dynamodb-proxy.ts'
import { type FaultyService, startFaultyService } from './faulty-service.ts'
import {
  type Conduct,
  inMemoryProvider,
  type MovableClock,
  movableClock,
  type Provider,
  payEndpoint,
} from './payment-saga.ts'

/** One moment of a schedule: some requests at once, what they meet, and how much time passes afterwards. */
interface Step {
  requests: number
  conducts: Conduct[]
  /** What strikes the table's calls, one after the other. */
  faults: (Fault | null)[]
  passes: number
}

const step: fc.Arbitrary<Step> = fc.record({
  requests: fc.integer({ min: 1, max: 3 }),
  conducts: fc.array(
    fc.constantFrom<Conduct>('pay', 'lose-answer', 'down', 'die-before', 'die-after', 'break', 'refuse'),
    { maxLength: 3 },
  ),
  faults: fc.array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constant(null) },
      {
        weight: 2,
        arbitrary: fc.constantFrom<Fault>('lose-answer', 'lose-request', 'throttle', 'unavailable'),
      },
    ),
    { maxLength: 16 },
  ),
  passes: fc.constantFrom(0, 1000, 31_000),
})

let service: FaultyService
let provider: Provider
let clock: MovableClock
let keys = 0
beforeAll(async () => {
  clock = movableClock()
  provider = inMemoryProvider()
  const settings = {
    ...localSettings,
    'idempotency.whilePending': { waitSeconds: 0.2, status: 503 as const },
  }
  service = await startFaultyService({ clock, settings, extra: [payEndpoint(provider)] })
})
afterAll(() => service.stop())

const pay = (tenant: string) =>
  service.call({
    method: 'POST',
    path: '/tests/pay',
    as: { tenant, role: 'Editor' },
    headers: { 'Idempotency-Key': 'key' },
    body: { amount: 5 },
  })

/** The answers of all requests but those whose process died on the way: they never end. */
async function survivors(requests: Promise<Answer>[], deathsBefore: number): Promise<Answer[]> {
  const answers: Answer[] = []
  for (const request of requests) void request.then((answer) => answers.push(answer))
  while (answers.length + provider.deaths - deathsBefore < requests.length) {
    await new Promise((resolve) => setImmediate(resolve))
  }
  return answers
}

const isFinal = ({ status, json }: Answer) => status === 201 || json.error.retryable === false

test('whatever fails, a key pays at most once, and what it once answered it answers for ever', async () => {
  const check = async (steps: Step[]) => {
    const tenant = `schedule-${keys++}`
    Object.assign(provider, { ...inMemoryProvider(), pay: provider.pay })
    const answers: Answer[] = []
    for (const { requests, conducts, faults, passes } of steps) {
      service.proxy.reset()
      faults.forEach((fault, at) => {
        if (fault) service.proxy.inject({ when: ({ index }) => index === at, fault })
      })
      provider.conducts = [...conducts]
      const { deaths } = provider
      answers.push(
        ...(await survivors(
          Array.from({ length: requests }, () => pay(tenant)),
          deaths,
        )),
      )
      clock.advance(passes)
    }
    service.proxy.reset()
    provider.conducts = []
    clock.advance(31_000)
    answers.push(await pay(tenant), await pay(tenant))

    const last = answers.at(-1)
    expect(last && isFinal(last)).toBe(true)
    for (const answer of answers.filter(isFinal)) {
      expect([answer.status, answer.body]).toEqual([last?.status, last?.body])
    }
    expect(provider.payouts.size).toBe(last?.status === 201 ? 1 : 0)
    const payments = await service.items(tenant, 'order')
    expect(payments.map(({ state }) => state)).toEqual([last?.status === 201 ? 'paid' : 'pending'])
  }
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 4 }), check), {
    numRuns: 300,
    seed: 20_260_102,
  })
}, 120_000)
