import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { someOf } from '#test/support/runs.ts'
import type { Answer, Call } from '#test/support/service.ts'
import { shortTimeoutSettings } from '#test/support/settings.ts'
import { uniqueTenant } from '#test/support/unique-tenant.ts'
import type { Fault } from './faults.ts'
import { expectRetryable, useFaultyService } from './faulty-service.ts'
import { callsWith, type Operation, operationsOf, resultsOf } from './operations.ts'

const service = await useFaultyService({
  settings: {
    ...shortTimeoutSettings,
    'idempotency.whilePending': { waitSeconds: 0.2, status: 409 as const },
  },
})
const call = callsWith(service)

const anyCall = ['lose-answer', 'lose-request', 'throttle', 'internal', 'unavailable'] as const
const transactions = ['conflict', 'conflict-and-refusal', 'in-progress'] as const
const forever = Number.POSITIVE_INFINITY
/** The effect takes place after the caller gave up: before its retry, or after it. */
type Late = 'before the retry' | 'after the retry'
interface Scenario {
  name: string
  fault: Fault | Late
  times: number
  /** The budget of the request; absent if it is long enough to see whether the operation recovers by itself. */
  milliseconds?: string
}
const scenarios: Scenario[] = [
  ...[...anyCall, ...transactions].flatMap((fault) => [
    { name: `${fault} once`, fault, times: 1 },
    { name: `${fault} forever`, fault, times: forever },
  ]),
  { name: 'a short delay', fault: { first: () => service.clock.advance(30) }, times: forever },
  ...(['before the retry', 'after the retry'] as const).map((fault) => {
    return { name: `an effect ${fault}`, fault, times: 1, milliseconds: '400' }
  }),
  { name: 'an answer that never comes', fault: 'no-answer', times: 1, milliseconds: '400' },
  { name: 'a request that never arrives', fault: 'no-arrival', times: 1, milliseconds: '400' },
]
const newTenant = () => uniqueTenant('faulty')
const isLate = (fault: Scenario['fault']): fault is Late => /the retry$/.test(String(fault))
const possible = (fault: Scenario['fault'], operation: string) =>
  operation === 'TransactWriteItems' || !transactions.some((one) => one === fault)
const seen = ({ status, body, headers }: Answer) => [status, body, headers.ETag]

/** Retries like a client. While the request is in progress, it waits for the lease of the dead process. */
async function retried(tenant: string, prepared: Call): Promise<Answer> {
  const answer = await call(tenant, 'key', prepared)
  if (answer.json?.error?.code !== 'CONFLICT.idempotency.in_progress') return answer
  service.clock.advance(31_000)
  return call(tenant, 'key', prepared)
}

/** Prepares a tenant. A replay follows a first call. */
async function prepare({ prepare: prepared, status }: Operation, isReplay: boolean) {
  const tenant = newTenant()
  const one = await prepared(tenant)
  const first = isReplay ? await call(tenant, 'key', one) : undefined
  if (first) expect(first.status).toBe(status)
  service.faults.reset()
  return { tenant, one, first }
}

/** Injects a fault at a call of an operation, ends it, and expects one effect for the key. */
async function expectOneEffect(operation: Operation, scenario: Scenario, at: number, isReplay: boolean) {
  const { fault, times, milliseconds } = scenario
  const { tenant, one, first } = await prepare(operation, isReplay)
  const late = Promise.withResolvers<void>()
  const injection = service.faults.inject({
    when: ({ index, operation: of }) => index >= at && possible(fault, of),
    times,
    fault: isLate(fault) ? { until: late.promise } : fault,
  })
  const headers = { 'X-Request-Timeout': milliseconds ?? '10000', ...one.headers }
  const answer = await call(tenant, 'key', { ...one, headers })
  if (answer.status !== operation.status) expectRetryable(answer)
  if (!milliseconds) expect(answer.status === operation.status).toBe(times === 1 || typeof fault === 'object')
  service.endFaults(fault)

  const takesEffect = async () => {
    late.resolve()
    if (injection.hits > 0) await injection.injected
  }
  if (fault === 'before the retry') await takesEffect()
  const retry = await retried(tenant, one)
  await takesEffect()
  const replay = await call(tenant, 'key', one)
  expect(retry.status).toBe(operation.status)
  if (operation.rows) expect(resultsOf(retry)).toEqual(operation.rows)
  for (const earlier of [first, answer])
    if (earlier?.status === operation.status) expect(seen(retry)).toEqual(seen(earlier))
  expect(seen(replay)).toEqual(seen(retry))
  expect(replay.headers['Idempotency-Status']).toBe('replayed')
  await operation.expectEffect(tenant)
}

const operations = operationsOf(service)

/** Each operation and its replay, with the calls of the table that they make without faults. */
const cases: { name: string; operation: Operation; isReplay: boolean; calls: string[] }[] = []
for (const [name, operation] of Object.entries(operations))
  for (const isReplay of [false, true]) {
    const { tenant, one } = await prepare(operation, isReplay)
    await call(tenant, 'key', one)
    const calls = service.faults.calls.map((made) => made.operation)
    cases.push({ name: isReplay ? `a replay of ${name}` : name, operation, isReplay, calls })
  }

describe.each(cases)('$name', ({ operation, isReplay, calls }) => {
  // One outage stands for the others where each row is a transaction.
  const outages = ['lose-answer', 'lose-request', 'throttle', 'in-progress']
  const rows = scenarios
    .filter(({ fault, times }) => !operation.rows || times === 1 || outages.includes(String(fault)))
    .filter(({ fault }) => calls.some((of) => possible(fault, of)))
    .map((scenario, row) => ({ ...scenario, row }))

  test.each(rows)(
    'under $name on any of its calls succeeds or fails as retryable, and its key has one effect',
    async ({ row, ...scenario }) => {
      const struck = [...calls.entries()].filter(([, of]) => possible(scenario.fault, of))
      for (const [at] of someOf(struck, row)) await expectOneEffect(operation, scenario, at, isReplay)
    },
  )
})

const oneTransaction = Object.entries(operations).filter(([, { rows }]) => !rows)

test.each(oneTransaction)(
  'eight concurrent requests with one key for %s under random faults have one effect and one response',
  async (_, operation) => {
    const sometimes = fc.option(
      fc.constantFrom<Fault>('throttle', 'lose-answer', 'lose-request', ...transactions),
    )
    const check = async (schedule: (Fault | null)[]) => {
      const { tenant, one } = await prepare(operation, false)
      schedule.forEach((fault, at) => {
        if (!fault) return
        service.faults.inject({
          when: ({ index, operation: of }) => index === at && possible(fault, of),
          fault,
        })
      })
      const answers = await Promise.all(Array.from({ length: 8 }, () => call(tenant, 'key', one)))
      service.endFaults('throttle')
      const last = await call(tenant, 'key', one)
      expect(last.status).toBe(operation.status)
      // After several throttles the process sheds calls, so all eight may fail. Then the last one may be the first effect.
      if (answers.some(({ status }) => status === operation.status))
        expect(last.headers['Idempotency-Status']).toBe('replayed')
      for (const answer of answers) {
        if (answer.status === operation.status) expect(seen(answer)).toEqual(seen(last))
        else expectRetryable(answer)
      }
      await operation.expectEffect(tenant)
    }
    const schedules = fc.array(sometimes, { minLength: 10, maxLength: 40 })
    await fc.assert(fc.asyncProperty(schedules, check), { numRuns: 5, seed: 20_260_303 })
  },
)
