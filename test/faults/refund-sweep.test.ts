import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { systemClock } from '#shared/platform/base/clock.ts'
import { finishSagas } from '#shared/platform/request/finish-sagas.ts'
import { declaredRuntime } from '#test/support/declared-table.ts'
import type { Fault } from '#test/support/payment-provider/payment-provider.ts'
import { errorAnswer, serverError } from '#test/support/payment-provider/stripe-wire.ts'
import { uniqueTenant } from '#test/support/unique-tenant.ts'
import { expectBalanced, ledgerOf, summaryOf, unfinished } from '../refunds/refund-ledger-check.ts'
import type { Call } from './faults.ts'
import { minAgeMilliseconds, startRefundService, swept } from './refund-service.ts'

const down: Fault = { when: 'before', how: serverError(503) }
const answerLost: Fault = { when: 'after', how: 'reset' }
const keys = ['a', 'b', 'c', 'd']

let tenant: string
/** No test waits for the end of an attempt, so it is longer than any sweep. */
const attemptMilliseconds = 10_000
const service = await startRefundService(attemptMilliseconds)
beforeEach(() => {
  tenant = uniqueTenant('left')
})
afterEach(() => service.mend())
afterAll(() => service.stop())

const bodyOf = (key: string) => ({ charge_id: `ch_${key}`, amount: 700 })
/** Returns whether an attempt is the first, third … of its call. Concurrent calls do not change it. */
function everySecond(): (attempt: Call) => boolean {
  const attempts = new Map<string, number>()
  return ({ operation, body }) => {
    const call = JSON.stringify([operation, body])
    attempts.set(call, (attempts.get(call) ?? 0) + 1)
    return (attempts.get(call) ?? 0) % 2 === 1
  }
}

/** One pending refund for each key, half of them paid. */
async function leavePending(of: readonly string[] = keys) {
  for (const [at, key] of of.entries()) {
    service.provider.faults = () => (at % 2 === 0 ? answerLost : down)
    expect((await service.refund(tenant, key, bodyOf(key))).json.error.retryable).toBe(true)
  }
  service.mend()
}

async function expectAllDone(of: readonly string[] = keys) {
  const state = await ledgerOf(service, service.provider, tenant)
  expect(summaryOf(state)).toEqual({
    refunds: of.map(() => 'succeeded'),
    ledger: of.length,
    payouts: of.length,
  })
  expectBalanced(state)
  expect(await unfinished(service)).toBe(0)
  for (const key of of) {
    const answer = await service.refund(tenant, key, bodyOf(key))
    expect(answer).toMatchObject({ status: 201, headers: { 'Idempotency-Status': 'replayed' } })
  }
}

describe('the sweeper of pending sagas', () => {
  test('fails while the provider is down, and finishes all once it works', async () => {
    await leavePending()
    service.provider.faults = () => down
    for (let run = 0; run < 5; run += 1) {
      const sweep = await service.sweep(minAgeMilliseconds)
      expect(sweep).toMatchObject({
        finished: 0,
        left: 4,
        fault: { code: expect.stringMatching(/^DEPENDENCY/) },
      })
      expect(await unfinished(service)).toBe(4)
    }
    service.mend()
    expect(await service.sweep(minAgeMilliseconds)).toEqual({
      finished: 4,
      left: 0,
      oldest: expect.any(Number),
    })
    await expectAllDone()
  })

  test.each(['throttle', 'lose-answer', 'lose-request'] as const)(
    'finishes all within a few runs, with %s on every second attempt of each call',
    async (fault) => {
      await leavePending()
      service.faults.reset()
      service.faults.inject({ when: everySecond(), times: Number.POSITIVE_INFINITY, fault })
      for (let run = 0; run < 3; run += 1) await service.sweep(minAgeMilliseconds)
      service.mend()
      await service.sweep(minAgeMilliseconds)
      await expectAllDone()
    },
  )

  test('fails while the table throttles every call, and finishes all in the next run', async () => {
    await leavePending()
    service.faults.inject({ when: () => true, times: Number.POSITIVE_INFINITY, fault: 'throttle' })
    await expect(service.sweep(minAgeMilliseconds)).rejects.toMatchObject({ code: 'DEPENDENCY.unavailable' })
    service.mend()
    expect(await service.sweep()).toEqual({ finished: 4, left: 0, oldest: expect.any(Number) })
    await expectAllDone()
  })

  test('pays each once, with two concurrent sweepers and retries of the callers', async () => {
    await leavePending()
    service.clock.advance(minAgeMilliseconds)
    const retries = keys.map((key) => service.refund(tenant, key, bodyOf(key)))
    await Promise.all([service.sweep(), service.sweep(), service.sweep(), ...retries])
    await service.sweep(minAgeMilliseconds)
    await expectAllDone()
  })

  test('skips sagas that are in progress', async () => {
    const work = Promise.withResolvers<void>()
    service.provider.faults = () => ({ until: work.promise })
    const { length: before } = service.provider.calls
    const first = service.refund(tenant, 'a', bodyOf('a'))
    while (service.provider.calls.length === before) await new Promise((resolve) => setImmediate(resolve))
    expect(await service.sweep()).toEqual({ finished: 0, left: 0 })
    expect(service.provider.calls.length).toBe(before + 1)
    work.resolve()
    expect((await first).status).toBe(201)
    await expectAllDone(['a'])
  })

  test('reaches sagas that can be finished, behind any number of those that cannot', async () => {
    const stuck = Array.from({ length: 20 }, (_, n) => `stuck-${n}`)
    service.provider.faults = () => down
    for (const key of [...stuck, 'z']) await service.refund(tenant, key, bodyOf(key))
    // Each uses the complete retry schedule, so few fit into one run.
    service.provider.faults = ({ parameters }) => (parameters.charge === 'ch_z' ? undefined : down)
    const { clock } = service
    const by = { ...clock, jitter: systemClock.jitter }
    const isDone = async () => summaryOf(await ledgerOf(service, service.provider, tenant)).ledger === 1
    for (let run = 0; run < 60 && !(await isDone()); run += 1) {
      clock.advance(minAgeMilliseconds)
      const sweep = await finishSagas(swept, {
        ...declaredRuntime('sagas.finish', service.runtime),
        clock: by,
      })
      expect(sweep.left).toBeGreaterThan(15)
    }
    expect(await isDone()).toBe(true)
    service.mend()
    while ((await service.sweep(minAgeMilliseconds)).left > 0);
    await expectAllDone([...stuck, 'z'])
  })
})

describe('one run with many stuck refunds of one tenant', () => {
  test('finishes the younger refund of another tenant', async () => {
    const stuck = Array.from({ length: 20 }, (_, n) => `stuck-${n}`)
    const other = `${tenant}-other`
    service.provider.faults = () => down
    for (const key of stuck) await service.refund(tenant, key, bodyOf(key))
    await service.refund(other, 'z', bodyOf('z'))
    service.provider.faults = ({ parameters }) => (parameters.charge === 'ch_z' ? undefined : down)
    const { left } = await service.sweep(minAgeMilliseconds)
    expect(left).toBe(stuck.length)
    expect(summaryOf(await ledgerOf(service, service.provider, other)).ledger).toBe(1)
    service.mend()
    while ((await service.sweep(minAgeMilliseconds)).left > 0);
  })
})

describe('an internal error', () => {
  test('after a possible payout stores nothing as failed, and the refund succeeds after the fix', async () => {
    await leavePending(['a'])
    const mistake = errorAnswer(400, { type: 'idempotency_error', message: 'Another request.' })
    service.provider.faults = () => ({ when: 'before', how: mistake })
    const answer = await service.refund(tenant, 'a', bodyOf('a'))
    expect(answer).toMatchObject({
      status: 500,
      json: { error: { code: 'TRANSIENT.error', retryable: true } },
    })
    expect(await service.sweep(minAgeMilliseconds)).toMatchObject({ finished: 0, left: 1 })
    expect(summaryOf(await ledgerOf(service, service.provider, tenant)).refunds).toEqual(['pending'])
    service.mend()
    expect(await service.sweep(minAgeMilliseconds)).toEqual({
      finished: 1,
      left: 0,
      oldest: expect.any(Number),
    })
    await expectAllDone(['a'])
  })
})
