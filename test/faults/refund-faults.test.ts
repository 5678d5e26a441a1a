import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { endpoint as createRefund } from '#functions/refunds/create-refund/endpoint.ts'
import type { Endpoint } from '#shared/platform/request/endpoint.ts'
import { finishSagas } from '#shared/platform/request/finish-sagas.ts'
import { movableClock } from '#test/support/clocks.ts'
import { declaredRuntime } from '#test/support/declared-table.ts'
import { outcome } from '#test/support/outcome.ts'
import {
  type Fault as ProviderFault,
  startPaymentProvider,
} from '#test/support/payment-provider/payment-provider.ts'
import { serverError } from '#test/support/payment-provider/stripe-wire.ts'
import { runsAll, someOf } from '#test/support/runs.ts'
import type { Answer } from '#test/support/service.ts'
import { profile } from '#test/support/settings.ts'
import { uniqueTenant } from '#test/support/unique-tenant.ts'
import { expectBalanced, ledgerOf, summaryOf, unfinished } from '../refunds/refund-ledger-check.ts'
import type { Fault } from './faults.ts'
import { startFaultyService } from './faulty-service.ts'

/** The duration of a lease, after which the sweeper resumes a saga. */
const leaseMilliseconds = 31_000
const minAgeMilliseconds = 91_000

const times = { once: 1, forever: Number.POSITIVE_INFINITY }
const done = { refunds: ['succeeded'], ledger: 1, payouts: 1 }
const answerLost: ProviderFault = { when: 'after', how: 'reset' }

let tenant: string
const provider = await startPaymentProvider()
// If the table is in memory, the provider is called without a connection.
if (!runsAll) globalThis.fetch = provider.fetch
const service = await startFaultyService({
  clock: movableClock(),
  settings: profile('shared/settings/profiles/local.json', {
    'refunds.provider': { endpoint: provider.endpoint, attemptMilliseconds: 300 },
    'idempotency.whilePending': { waitSeconds: 0.2, status: 503 },
  }),
})
const refund = (body: object = { charge_id: 'ch_1', amount: 700 }) =>
  service.call({
    method: 'POST',
    path: '/v1/refunds',
    as: { tenant },
    headers: { 'Idempotency-Key': 'key' },
    body,
  })
/** Runs the sweeper after the minimum age of a saga. */
function sweep() {
  service.clock.advance(minAgeMilliseconds)
  return finishSagas([createRefund as unknown as Endpoint], declaredRuntime('sagas.finish', service.runtime))
}
function endFaults() {
  service.faults.reset()
  provider.faults = () => undefined
}
const newTenant = () => {
  tenant = uniqueTenant('faulty')
}
beforeEach(newTenant)
afterEach(endFaults)
afterAll(() => Promise.all([service.stop(), provider.stop()]))

/** A refund with no response from the provider. */
async function leavePending() {
  provider.faults = () => answerLost
  expect((await refund()).json.error.retryable).toBe(true)
  endFaults()
}

/** The tested case: its preparation, and the requests to the service. */
const stages: Record<string, { prepare(): Promise<unknown>; run(): Promise<Answer | undefined> }> = {
  'its first call': { prepare: async () => {}, run: () => refund() },
  'the retry of one that was left pending': { prepare: leavePending, run: () => refund() },
  'its replay': { prepare: () => refund(), run: () => refund() },
  'the service’s own look': {
    prepare: leavePending,
    // A sweep that cannot start fails, and the next one follows a minute later.
    run: () => sweep().then(...[() => undefined, () => undefined]),
  },
}

/** After all faults: the caller retries, or the sweeper runs first. */
const ends: Record<string, () => Promise<unknown>> = {
  'the retry': async () => service.clock.advance(leaseMilliseconds),
  'the service itself': () => sweep(),
}

async function expectOneRefund(earlier: Answer | undefined, end: () => Promise<unknown>) {
  endFaults()
  await end()
  const retry = await refund()
  const replay = await refund()
  expect([retry.status, replay.status, replay.body]).toEqual([201, 201, retry.body])
  expect(replay.headers['Idempotency-Status']).toBe('replayed')
  if (earlier?.status === 201) expect(earlier.body).toBe(retry.body)
  else if (earlier) expect(earlier.json.error.retryable).toBe(true)
  const state = await ledgerOf(service, provider, tenant)
  expect(summaryOf(state)).toEqual(done)
  expectBalanced(state)
  expect(await unfinished(service)).toBe(0)
}

const faults: Fault[] = ['lose-answer', 'lose-request', 'throttle', 'conflict']
const injected = faults.flatMap((fault) =>
  (['once', 'forever'] as const).map((often) => [fault, often] as const),
)
const faultRows = injected.map(([fault, often], row) => [fault, often, row] as const)
const possible = (fault: Fault, operation: string) =>
  operation === 'TransactWriteItems' || fault !== 'conflict'

describe.each(Object.entries(stages))('%s', (_, { prepare, run }) => {
  /** The calls of the table without faults. */
  let calls: string[]
  beforeAll(async () => {
    newTenant()
    await prepare()
    service.faults.reset()
    await run()
    calls = service.faults.calls.map(({ operation }) => operation)
    expect(calls.length).toBeGreaterThan(0)
  })

  describe.each(Object.entries(ends))(
    'ends with %s in one payout, one ledger entry and one response',
    (__, end) => {
      test.each(faultRows)('after %s on any call of the table, %s', async (fault, often, row) => {
        const struckCalls = [...calls.entries()].filter(([, operation]) => possible(fault, operation))
        for (const [at] of someOf(struckCalls, row)) {
          newTenant()
          await prepare()
          service.faults.reset()
          const when = ({ index, operation: of }: { index: number; operation: string }) =>
            index >= at && possible(fault, of)
          service.faults.inject({ when, times: times[often], fault })
          await expectOneRefund(await run(), end)
        }
      })

      const lost: [string, ProviderFault][] = [
        ['an answer that is lost', answerLost],
        ['an answer that never comes', { when: 'after', how: 'lose' }],
        ['a connection that is cut before', { when: 'before', how: 'reset' }],
        ['a provider that pays and says that it failed', { when: 'after', how: serverError() }],
        ['a provider that is away', { when: 'before', how: serverError(503) }],
      ]
      test.each(lost)('after %s, on one attempt, on some and on all', async (___, fault) => {
        for (const many of [1, 3, Number.POSITIVE_INFINITY]) {
          newTenant()
          await prepare()
          let left = many
          provider.faults = () => (left-- > 0 ? fault : undefined)
          await expectOneRefund(await run(), end)
        }
      })
    },
  )
})

describe('a permanent rejection', () => {
  test.each(injected)('is the same after %s on any call of the table, %s', async (fault, often) => {
    for (const at of [0, 1, 2]) {
      newTenant()
      const body = { charge_id: 'ch_declined_1', amount: 1 }
      service.faults.reset()
      const when = ({ index, operation }: { index: number; operation: string }) =>
        index >= at && possible(fault, operation)
      service.faults.inject({ when, times: times[often], fault })
      const first = await refund(body)
      endFaults()
      await sweep()
      const retry = await refund(body)
      const code = 'POLICY.refund.declined'
      expect(outcome(retry)).toBe(`409 ${code}`)
      if (first.status === 409 && first.json.error.code === code) expect(retry.body).toBe(first.body)
      else expect(first.json.error.retryable).toBe(true)
      const state = await ledgerOf(service, provider, tenant)
      expect(summaryOf(state)).toEqual({ refunds: ['failed'], ledger: 0, payouts: 0 })
      expect(await unfinished(service)).toBe(0)
    }
  })
})
