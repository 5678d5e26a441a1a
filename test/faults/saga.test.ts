import { describe, expect, test } from '@jest/globals'
import type { Answer } from '../support/service.ts'
import type { Call } from './faults.ts'
import { clock, pay, provider, service, tenant } from './payments.ts'

const summary = ({ status, headers, json }: Answer) => [
  status,
  json.error?.code,
  headers['Idempotency-Status'],
  headers['Retry-After'],
]
const states = async () => (await service.items(tenant, 'order')).map(({ state }) => state)
/** Resolves once the provider was called this often. */
async function calledTimes(count: number) {
  for (const from = performance.now(); provider.calls.length < count; ) {
    if (performance.now() - from > 60_000)
      throw new Error(`the provider was called ${provider.calls.length} times`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

describe('a saga', () => {
  test('is executed once, returns its response, and replays the same bytes', async () => {
    const first = await pay()
    const replay = await pay()
    expect(summary(first)).toEqual([201, undefined, 'stored', undefined])
    expect(summary(replay)).toEqual([201, undefined, 'replayed', undefined])
    expect(replay.body).toBe(first.body)
    expect([provider.calls.length, await states()]).toEqual([1, ['paid']])
  })

  test.each([
    ['loses the response', 'lose-answer', 504, 'DEPENDENCY.timeout'],
    ['is down', 'down', 503, 'DEPENDENCY.unavailable'],
  ] as const)('stays pending if the provider %s, and a retry resumes it with its id', async (...row) => {
    const [, conduct, status, code] = row
    provider.conducts = [conduct, conduct]
    const failures = [await pay(), await pay()]
    for (const failure of failures) {
      expect(failure).toMatchObject({ status, json: { error: { code, retryable: true } } })
    }
    expect(await states()).toEqual(['pending'])
    const answer = await pay()
    expect(summary(answer)).toEqual([201, undefined, 'stored', undefined])
    expect([new Set(provider.calls).size, provider.payouts.size, await states()]).toEqual([1, 1, ['paid']])
    expect((await pay()).body).toBe(answer.body)
  })

  test('with a programming error is stored as failed and replayed, and never retried', async () => {
    provider.conducts = ['break']
    const first = await pay()
    clock.advance(60_000)
    const replay = await pay()
    expect(summary(first)).toEqual([500, 'INTERNAL.unexpected', 'stored', undefined])
    expect(summary(replay)).toEqual([500, 'INTERNAL.unexpected', 'replayed', undefined])
    expect(replay.body).toBe(first.body)
    expect([provider.calls.length, provider.payouts.size]).toEqual([1, 0])
  })

  test('that is stored as failed is logged with its code and its cause', async () => {
    provider.conducts = ['break']
    service.lines.length = 0
    await pay()
    expect(service.lines).toMatchObject([
      { status: 500, failure: { code: 'INTERNAL.unexpected', cause: { message: 'a mistake in the code' } } },
    ])
  })

  test('with a permanent rejection is stored and replayed, and never retried', async () => {
    provider.conducts = ['refuse']
    const first = await pay()
    const replay = await pay()
    expect(summary(first)).toEqual([409, 'PROVIDER.duplicate', 'stored', undefined])
    expect(summary(replay)).toEqual([409, 'PROVIDER.duplicate', 'replayed', undefined])
    expect(replay.body).toBe(first.body)
    expect(provider.calls).toHaveLength(1)
  })
})

describe('a request whose key is in progress', () => {
  test('waits, and replays the response of the first', async () => {
    const held = Promise.withResolvers<void>()
    Object.assign(provider, { conducts: ['slow'], hold: held.promise })
    const first = pay()
    await calledTimes(1)
    const isPoll = ({ operation }: Call) => operation === 'GetItem'
    service.faults.inject({ when: isPoll, fault: { first: () => held.resolve() } })
    const second = pay()
    expect((await second).body).toBe((await first).body)
    expect(summary(await second)).toEqual([201, undefined, 'replayed', undefined])
    expect(provider.calls).toHaveLength(1)
  })

  test('fails as retryable after the configured wait', async () => {
    const held = Promise.withResolvers<void>()
    Object.assign(provider, { conducts: ['slow'], hold: held.promise })
    const first = pay()
    await calledTimes(1)
    const from = clock.now()
    const second = await pay()
    const { waitSeconds } = service.settings['idempotency.whilePending']
    expect(clock.now() - from).toBeGreaterThanOrEqual(waitSeconds * 1000)
    expect(clock.now() - from).toBeLessThan(waitSeconds * 1000 + 500)
    expect(summary(second)).toEqual([503, 'DEPENDENCY.unavailable', undefined, '1'])
    expect(second.json.error.retryable).toBe(true)
    held.resolve()
    expect((await first).status).toBe(201)
    expect(summary(await pay())).toEqual([201, undefined, 'replayed', undefined])
  })

  test('with another payload is rejected at once', async () => {
    const held = Promise.withResolvers<void>()
    Object.assign(provider, { conducts: ['slow'], hold: held.promise })
    const first = pay()
    await calledTimes(1)
    const from = clock.now()
    expect(summary(await pay({}, 6))).toEqual([
      409,
      'CONFLICT.idempotency.payload_mismatch',
      undefined,
      undefined,
    ])
    expect(clock.now() - from).toBeLessThan(10)
    held.resolve()
    expect((await first).status).toBe(201)
    expect(provider.payouts.size).toBe(1)
  })

  test.each(['die-before', 'die-after'] as const)(
    'of a dead process (%s) is taken over after its lease by one of many, and all return the same response',
    async (conduct) => {
      provider.conducts = [conduct]
      void pay()
      await calledTimes(1)
      expect((await pay()).json.error.code).toBe('DEPENDENCY.unavailable')
      clock.advance(31_000)
      const answers = await Promise.all(Array.from({ length: 10 }, () => pay()))
      expect(new Set(answers.map(({ status, body }) => `${status} ${body}`)).size).toBe(1)
      expect(answers[0]?.status).toBe(201)
      expect(answers.filter(({ headers }) => headers['Idempotency-Status'] === 'stored')).toHaveLength(1)
      expect([provider.calls.length, new Set(provider.calls).size, provider.payouts.size]).toEqual([2, 1, 1])
    },
  )

  test('a process that continues after its lease expired changes nothing and returns its successor’s response', async () => {
    const held = Promise.withResolvers<void>()
    Object.assign(provider, { conducts: ['slow'], hold: held.promise })
    const first = pay({ 'X-Request-Timeout': '10000' })
    await calledTimes(1)
    clock.advance(31_000)
    const second = await pay()
    expect(summary(second)).toEqual([201, undefined, 'stored', undefined])
    held.resolve()
    const late = await first
    if (late.status === 201) expect(late.body).toBe(second.body)
    else expect(summary(late)).toEqual([504, 'DEPENDENCY.timeout', undefined, undefined])
    expect((await pay()).body).toBe(second.body)
    expect(provider.payouts.size).toBe(1)
  })
})
