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
  const access = { clock, budget: startBudget(clock, budgetMilliseconds) }
  const outcome = await retry(call, [], access).catch((thrown) => thrown)
  return { outcome, calls: limits.length, limits, slept: clock.slept }
}

const canceled = (...codes: string[]) => ({
  name: 'TransactionCanceledException',
  CancellationReasons: codes.map((Code) => ({ Code })),
})

describe('a DynamoDB call', () => {
  const busy = Array.from({ length: 20 }, (_, n) => ({ ...canceled('None', 'TransactionConflict'), n }))

  test.each<[string, object]>([
    ...[
      'ProvisionedThroughputExceededException',
      'ThrottlingException',
      'RequestLimitExceeded',
      'TransactionConflictException',
      'TransactionInProgressException',
      'TimeoutError',
    ].map((name): [string, object] => [name, { name }]),
    ...['ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ETIMEDOUT', 'EAI_AGAIN', 'ENOTFOUND'].map(
      (code): [string, object] => [code, { name: 'Error', code }],
    ),
    ...['ThrottlingError', 'ProvisionedThroughputExceeded', 'TransactionConflict'].map(
      (code): [string, object] => [`a transaction that is canceled by ${code}`, canceled('None', code)],
    ),
    ['a server error', { $metadata: { httpStatusCode: 500 } }],
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

describe('a table whose partitions throttle', () => {
  const throttle = { name: 'ProvisionedThroughputExceededException' }
  const conflict = canceled('TransactionConflict')

  /** A process with its own clock. It makes calls, one after the other, and counts those that reach the table. */
  function newProcess(jitter = 0) {
    const clock = { ...fastClock(), jitter: () => jitter }
    let sent = 0
    /** Makes a call that fails with an error each time, or at its first attempts, or succeeds. */
    async function call(
      error: object | undefined,
      capacities = ['write a'],
      { critical = false, failures = Number.POSITIVE_INFINITY } = {},
    ) {
      const before = sent
      const access = { clock, budget: startBudget(clock, 60_000) }
      const work = async () => {
        sent += 1
        if (error && sent - before <= failures) throw error
      }
      const criticality = critical ? ('critical' as const) : ('sheddable' as const)
      const thrown = await retry(work, capacities, { ...access, criticality }).catch((one) => one)
      return { sent: sent - before, code: thrown?.code ?? thrown?.name }
    }
    return { clock, call }
  }

  /** Returns a process whose last calls were throttled. */
  async function throttledProcess(capacities = ['write a'], error: object = throttle) {
    const process = newProcess()
    await process.call(error, capacities)
    return process
  }

  test('is sent the three attempts of a first call', async () => {
    expect(await newProcess().call(throttle)).toEqual({ sent: 3, code: 'DEPENDENCY.unavailable' })
  })

  test('is not sent a call right after three throttled ones: it fails with a retryable error', async () => {
    const { call } = await throttledProcess()
    expect(await call(undefined)).toEqual({ sent: 0, code: 'DEPENDENCY.unavailable' })
  })

  test.each([
    ['a critical call', ['write a'], { critical: true }],
    ['a call of another partition', ['write b'], {}],
    ['a read of the partition', ['read a'], {}],
  ])('is sent %s at once', async (_, capacities, options) => {
    const { call } = await throttledProcess()
    expect(await call(undefined, capacities, options)).toEqual({ sent: 1, code: undefined })
  })

  test('is sent calls again a second later, as the earliest Retry-After says', async () => {
    const { call, clock } = await throttledProcess()
    clock.pass(1000)
    expect(await call(undefined)).toEqual({ sent: 1, code: undefined })
  })

  test('is sent calls by chance, the less the more of them it refused', async () => {
    const sentAt = async (jitter: number) => {
      const { call } = newProcess(jitter)
      await call(throttle)
      return (await call(undefined)).sent
    }
    // Three refused calls, less what their delays halve: an excess of less than 1 of 4.
    expect(await sentAt(0.25)).toBe(1)
    expect(await sentAt(0.2)).toBe(0)
  })

  test('is sent all calls while it admits each second attempt', async () => {
    const { call } = newProcess()
    const calls = []
    for (let n = 0; n < 30; n += 1) calls.push(await call(throttle, ['write a'], { failures: 1 }))
    expect(calls).toEqual(Array(30).fill({ sent: 2, code: undefined }))
  })

  test('is not sent calls while callers go on: those that are shed count, too', async () => {
    const { call, clock } = await throttledProcess()
    for (let n = 0; n < 10; n += 1) await call(undefined)
    clock.pass(1200)
    expect((await call(undefined)).sent).toBe(0)
  })

  test('is held back however many calls it admitted a minute before', async () => {
    const { call, clock } = newProcess()
    await call(throttle, ['write a'], { failures: 1 })
    for (let n = 0; n < 20; n += 1) await call(undefined)
    clock.pass(60_000)
    await call(throttle)
    expect((await call(undefined)).sent).toBe(0)
  })

  test('is not one whose connections break', async () => {
    const { call } = newProcess()
    await call({ code: 'ECONNRESET' })
    expect((await call(undefined)).sent).toBe(1)
  })

  test('another process is not shed', async () => {
    await throttledProcess()
    expect((await newProcess().call(undefined)).sent).toBe(1)
  })

  describe('in a transaction on several partitions', () => {
    const both = ['write a', 'write b']

    test('sheds calls of the throttled one only', async () => {
      const { call } = await throttledProcess(both, canceled('ThrottlingError', 'None'))
      expect((await call(undefined, ['write a'])).sent).toBe(0)
      expect((await call(undefined, ['write b'])).sent).toBe(1)
    })

    test('counts a call that is shed for one partition against no other', async () => {
      const { call } = newProcess()
      // Both throttle, and then only one admits calls.
      await call(canceled('ThrottlingError', 'ThrottlingError'), both)
      const attempts = Array.from({ length: 30 }, () => call(undefined, both))
      for (const { sent } of await Promise.all(attempts)) expect(sent).toBe(0)
      await call(undefined, ['write b'], { critical: true })
      expect((await call(undefined, ['write b'])).sent).toBe(1)
    })
  })

  test('counts a failed condition as admitted, and a conflict as neither', async () => {
    const failed = canceled('ConditionalCheckFailed')
    const { call } = await throttledProcess()
    await call(conflict, ['write a'], { critical: true })
    expect((await call(undefined)).sent).toBe(0)
    await call(failed, ['write a'], { critical: true })
    await call(failed, ['write a'], { critical: true })
    expect((await call(undefined)).sent).toBe(1)
  })

  test('remembers the thousand partitions that throttled last', async () => {
    const { call, clock } = newProcess()
    clock.sleep = async () => {}
    for (let n = 0; n <= 1000; n += 1) await call(throttle, [`write ${n}`])
    expect((await call(undefined, ['write 0'])).sent).toBe(1)
    expect((await call(undefined, ['write 1'])).sent).toBe(0)
  })

  test('remembers a partition that throttles again as the last one', async () => {
    const { call, clock } = newProcess()
    clock.sleep = async () => {}
    const throttled = [...Array(1000).keys(), 0, 1000]
    for (const n of throttled) await call(throttle, [`write ${n}`], { critical: true })
    expect((await call(undefined, ['write 0'])).sent).toBe(0)
    expect((await call(undefined, ['write 1'])).sent).toBe(1)
  })
})
