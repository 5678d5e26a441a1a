import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { outcome } from '#test/support/outcome.ts'
import type { Answer } from '#test/support/service.ts'
import type { Call, Fault } from './faults.ts'
import { expectRetryable, useFaultyService } from './faulty-service.ts'

const order = { cart_id: 'cart-1', amount_minor: 1250, currency: 'EUR' }
const times = { once: 1, 'three times': 3, forever: Number.POSITIVE_INFINITY }
const named = [
  'lose-answer',
  'lose-request',
  'no-answer',
  'no-arrival',
  'throttle',
  'internal',
  'unavailable',
  'conflict',
  'in-progress',
] as const
const budget = { 'X-Request-Timeout': '700' }

let tenants = 0
const service = await useFaultyService()
const kinds: [string, Fault][] = [
  ...named.map((fault): [string, Fault] => [fault, fault]),
  ['a short delay', { first: () => service.clock.advance(40) }],
]
const writing = kinds.flatMap(([name, fault]) =>
  Object.entries(times).map(([often, count]) => [name, often, fault, count] as const),
)

const newTenant = () => `tenant-${tenants++}`
const place = (tenant: string, key: string, headers: Record<string, string> = budget) =>
  service.call({
    method: 'POST',
    path: '/v1/orders',
    as: { tenant, role: 'Editor' },
    headers: { 'Idempotency-Key': key, ...headers },
    body: order,
  })

/** Expects one order for the key once the faults end. Returns its response. @param late what happens after the retry */
async function expectOneOrder(
  tenant: string,
  key: string,
  earlier: Answer[],
  { fault, late = async () => {} }: { fault?: Fault; late?: () => Promise<void> } = {},
) {
  service.endFaults(fault)
  const retry = await place(tenant, key, {})
  await late()
  const answers = [...earlier, retry, await place(tenant, key, {})]
  for (const answer of answers) if (answer.status !== 201) expectRetryable(answer)
  expect(retry.status).toBe(201)
  expect(new Set(answers.filter(({ status }) => status === 201).map(({ body }) => body)).size).toBe(1)
  expect(answers.at(-1)?.headers['Idempotency-Status']).toBe('replayed')
  const orders = await service.items(tenant, 'order')
  expect(orders.map(({ id }) => id)).toEqual([retry.json.id])
  return retry
}

describe('POST /v1/orders while the table fails', () => {
  test.each(writing)(
    '%s %s results in the order or a retryable failure, and the retry in one order',
    async (_, often, fault, count) => {
      const tenant = newTenant()
      const before = (await service.records()).length
      service.inject(fault, 0, count)
      const answer = await place(tenant, 'key', often === 'once' ? {} : budget)
      if (often === 'forever' && typeof fault === 'string') expect(answer.status).not.toBe(201)
      if (often === 'once') expect(answer.status).toBe(201)
      await expectOneOrder(tenant, 'key', [answer], { fault })
      expect(await service.records()).toHaveLength(before + 1)
    },
  )

  test.each(writing)(
    '%s %s during a replay returns the first response or a retryable failure',
    async (...row) => {
      const [, , fault, count] = row
      const tenant = newTenant()
      const first = await place(tenant, 'key')
      service.inject(fault, 0, count)
      const replay = await place(tenant, 'key')
      await expectOneOrder(tenant, 'key', [first, replay], { fault })
    },
  )

  test('returns 503 with Retry-After while the table is throttled', async () => {
    service.inject('throttle', 0, times.forever)
    const answer = await place(newTenant(), 'key', {})
    expectRetryable(answer)
    expect(answer.status).toBe(503)
  })

  test('replays a late write that takes effect after the 504', async () => {
    const tenant = newTenant()
    const { promise, resolve: land } = Promise.withResolvers<void>()
    const late = service.inject({ until: promise })
    const answer = await place(tenant, 'key', { 'X-Request-Timeout': '150' })
    expect(outcome(answer)).toBe('504 DEPENDENCY.timeout')
    expect(await service.items(tenant, 'order')).toEqual([])
    land()
    await late.injected
    const [landed] = await service.items(tenant, 'order')
    const retry = await expectOneOrder(tenant, 'key', [answer])
    expect(retry.json.id).toBe(landed?.id)
    expect(retry.headers['Idempotency-Status']).toBe('replayed')
  })

  test('ignores a late write that takes effect after the retry', async () => {
    const tenant = newTenant()
    const { promise, resolve: land } = Promise.withResolvers<void>()
    const late = service.inject({ until: promise })
    const answer = await place(tenant, 'key', { 'X-Request-Timeout': '150' })
    const landLate = async () => {
      land()
      await late.injected
    }
    const retry = await expectOneOrder(tenant, 'key', [answer], { late: landLate })
    expect(retry.headers['Idempotency-Status']).toBe('stored')
  })

  test('creates one order for thirty concurrent calls with one key under random faults, with equal responses', async () => {
    const sometimes = fc.option(fc.constantFrom<Fault>('conflict', 'throttle', 'lose-answer', 'in-progress'))
    const schedules = fc.array(sometimes, { minLength: 40, maxLength: 120 })
    const check = async (schedule: (Fault | null)[]) => {
      const tenant = newTenant()
      service.faults.reset()
      schedule.forEach((fault, at) => {
        if (fault)
          service.faults.inject({ when: (call) => call.index === at && possible(fault, call), fault })
      })
      const answers = await Promise.all(Array.from({ length: 30 }, () => place(tenant, 'key', {})))
      await expectOneOrder(tenant, 'key', answers, { fault: 'throttle' })
    }
    await fc.assert(fc.asyncProperty(schedules, check), { numRuns: 8, seed: 20_260_101 })
  })
})

const possible = (fault: Fault, { operation }: Call) =>
  operation === 'TransactWriteItems' || (fault !== 'conflict' && fault !== 'in-progress')
