import { describe, expect, test } from '@jest/globals'
import { retry } from '#shared/platform/aws/retry.ts'
import { type Clock, startBudget, systemClock } from '#shared/platform/base/clock.ts'

/** A clock whose sleeps return at once. */
function fastClock(): Clock & { slept: number[] } {
  let now = 0
  const slept: number[] = []
  return {
    ...systemClock,
    slept,
    now: () => now,
    jitter: () => 0.5,
    async sleep(milliseconds) {
      slept.push(milliseconds)
      now += milliseconds
    },
  }
}

/** Calls with the errors in order, then succeeds. */
async function run(errors: object[], budgetMilliseconds = 60_000) {
  const clock = fastClock()
  let calls = 0
  const call = async () => {
    const error = errors[calls]
    calls += 1
    if (error) throw error
    return 'done'
  }
  const outcome = await retry(call, clock, startBudget(clock, budgetMilliseconds)).catch((thrown) => thrown)
  return { outcome, calls, slept: clock.slept }
}

const canceled = (...codes: string[]) => ({
  name: 'TransactionCanceledException',
  CancellationReasons: codes.map((Code) => ({ Code })),
})

describe('a DynamoDB call', () => {
  test.each([
    ['throttling', { name: 'ThrottlingException' }],
    ['a broken connection', { code: 'ECONNRESET' }],
    ['a server error', { $metadata: { httpStatusCode: 503 } }],
    ['a transaction conflict', canceled('None', 'TransactionConflict')],
  ])('is retried after %s', async (_, error) => {
    expect(await run([error])).toMatchObject({ outcome: 'done', calls: 2 })
  })

  test.each([
    ['an invalid request', { name: 'ValidationException', $metadata: { httpStatusCode: 400 } }],
    ['a failed condition', canceled('None', 'ConditionalCheckFailed')],
    [
      'a failed condition on the idempotency record',
      canceled('ConditionalCheckFailed', 'TransactionConflict'),
    ],
  ])('is not retried after %s', async (_, error) => {
    expect(await run([error])).toEqual({ outcome: error, calls: 1, slept: [] })
  })

  test('backs off exponentially up to 400 ms, with jitter', async () => {
    const { slept } = await run(Array.from({ length: 6 }, () => ({ name: 'ThrottlingException' })))
    expect(slept).toEqual([12.5, 25, 50, 100, 200, 200])
  })

  test('fails after twelve attempts', async () => {
    const busy = Array.from({ length: 20 }, () => ({ name: 'ThrottlingException' }))
    expect(await run(busy)).toMatchObject({ outcome: { code: 'DEPENDENCY.unavailable' }, calls: 12 })
  })

  test('fails if the next delay would use up the budget', async () => {
    const busy = Array.from({ length: 20 }, () => ({ name: 'ThrottlingException' }))
    expect(await run(busy, 90)).toMatchObject({ outcome: { code: 'DEPENDENCY.timeout' }, calls: 4 })
  })
})
