import { describe, expect, test } from '@jest/globals'
import { retry } from '#shared/platform/aws/retry.ts'
import { type Clock, startBudget, systemClock } from '#shared/platform/base/clock.ts'
import { fail } from '#shared/platform/base/failure.ts'

/** A clock whose sleeps return at once. */
function fastClock(): Clock & { slept: number[]; pass(milliseconds: number): void } {
  let now = 0
  const slept: number[] = []
  return {
    ...systemClock,
    slept,
    pass(milliseconds) {
      now += milliseconds
    },
    now: () => now,
    jitter: () => 0.5,
    async sleep(milliseconds) {
      slept.push(milliseconds)
      now += milliseconds
    },
  }
}

/** Calls with the errors in order, then succeeds. @param callMilliseconds how long each call takes */
async function run(errors: object[], budgetMilliseconds = 60_000, callMilliseconds = 0) {
  const clock = fastClock()
  const limits: number[] = []
  const call = async (milliseconds: number) => {
    limits.push(milliseconds)
    clock.pass(callMilliseconds)
    const error = errors[limits.length - 1]
    if (error) throw error
    return 'done'
  }
  const outcome = await retry(call, clock, startBudget(clock, budgetMilliseconds)).catch((thrown) => thrown)
  return { outcome, calls: limits.length, limits, slept: clock.slept }
}

const canceled = (...codes: string[]) => ({
  name: 'TransactionCanceledException',
  CancellationReasons: codes.map((Code) => ({ Code })),
})

describe('a DynamoDB call', () => {
  const busy = Array.from({ length: 20 }, (_, n) => ({ ...canceled('None', 'TransactionConflict'), n }))

  test.each([
    ['throttling', { name: 'ThrottlingException' }],
    ['a broken connection', { code: 'ECONNRESET' }],
    ['a server error', { $metadata: { httpStatusCode: 500 } }],
    ['a transaction conflict', canceled('None', 'TransactionConflict')],
  ])('is retried after %s', async (_, error) => {
    expect(await run([error])).toMatchObject({ outcome: 'done', calls: 2 })
  })

  test.each([
    ['an invalid request', { name: 'ValidationException', $metadata: { httpStatusCode: 400 } }],
    ['an unknown error', { name: 'Error' }],
    ['a failed condition', canceled('None', 'ConditionalCheckFailed')],
    [
      'a failed condition on the idempotency record',
      canceled('ConditionalCheckFailed', 'TransactionConflict'),
    ],
  ])('is not retried after %s', async (_, error) => {
    expect(await run([error])).toMatchObject({ outcome: error, calls: 1, slept: [] })
  })

  test('backs off exponentially up to 400 ms, with jitter', async () => {
    const { slept } = await run(busy.slice(0, 6))
    expect(slept).toEqual([12.5, 25, 50, 100, 200, 200])
  })

  test.each([
    ['an exception', { name: 'ThrottlingException' }],
    ['a reason of a canceled transaction', canceled('None', 'ThrottlingError')],
    ['one of several reasons', canceled('TransactionConflict', 'ProvisionedThroughputExceeded')],
  ])('that is throttled fails after three attempts (%s)', async (_, error) => {
    const outcome = { code: 'DEPENDENCY.unavailable', cause: error }
    expect(await run(Array(20).fill(error))).toMatchObject({ outcome, calls: 3 })
  })

  test('counts only throttles against their limit', async () => {
    const throttle = { name: 'ThrottlingException' }
    const errors = [throttle, ...busy.slice(0, 4), throttle, ...busy.slice(0, 4)]
    expect(await run(errors)).toMatchObject({ outcome: 'done', calls: 11 })
  })

  test('fails after twelve attempts that conflict', async () => {
    const outcome = { code: 'DEPENDENCY.unavailable', cause: busy[11] }
    expect(await run(busy)).toMatchObject({ outcome, calls: 12 })
  })

  test.each([
    [90, [12.5, 25, 50]],
    [87.5, [12.5, 25]],
  ])('fails if the next delay would use up the budget (%d)', async (budget, slept) => {
    const outcome = { code: 'DEPENDENCY.timeout', cause: busy[slept.length] }
    expect(await run(busy, budget)).toMatchObject({ outcome, slept })
  })

  test('is not made without time', async () => {
    expect(await run([], 0)).toMatchObject({ outcome: { code: 'DEPENDENCY.timeout' }, calls: 0 })
  })

  test('takes three seconds or the rest of the budget', async () => {
    expect((await run(busy.slice(0, 2), 4000, 1000)).limits).toEqual([3000, 4000 - 1012.5 + 1, 1963.5])
  })

  test('that takes the whole budget is a timeout, whatever its error', async () => {
    const error = { name: 'ValidationException' }
    const outcome = { code: 'DEPENDENCY.timeout', cause: error }
    expect(await run([error], 1000, 1000)).toMatchObject({ outcome, calls: 1 })
  })

  test('that fails with an error of the service fails with it', async () => {
    const failure = fail('CONFLICT.soft_deleted')
    expect((await run([failure], 1000, 1000)).outcome).toBe(failure)
  })
})
