import { beforeAll, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import * as v from 'valibot'
import { toRequest } from '#shared/platform/aws/gateway-event.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import { fingerprint } from '#shared/platform/idempotency/idempotency-record.ts'
import { defineEndpoint, ok } from '#shared/platform/request/endpoint.ts'
import { defineRoute } from '#shared/platform/request/route.ts'
import { orderEvent } from '../bench/order-event.ts'
import { itemsOf } from '../support/dynamodb-client.ts'
import { type Answer, type Service, startService } from '../support/service.ts'

const windowSeconds = 60
const route = defineRoute({
  operation: 'tests.throttled',
  method: 'POST',
  path: '/tests/throttled',
  summary: 'Be throttled',
  description: 'An operation of this test.',
  auth: 'none',
  idempotency: 'accepted',
  confidential: true,
  throttle: () => [
    { limit: 5, windowSeconds, by: ['source', 'body.email'], details: { captcha_required: true } },
  ],
  body: () => v.strictObject({ email: v.pipe(v.string(), v.toLowerCase()), text: v.optional(v.string()) }),
  reply: { status: () => 200, schema: () => v.strictObject({}) },
  errors: [],
  uses: [],
  impact: 'Nothing.',
})
const { confidential: _, ...plain } = route
const open = { ...plain, operation: 'tests.open', path: '/tests/open' }

let now = Date.parse('2026-03-01T12:00:00Z')
let service: Service
beforeAll(async () => {
  const only = [route, open].map((each) => defineEndpoint(each, { decide: () => ok({}) }))
  service = await startService({ clock: { ...systemClock, now: () => now }, only })
})

let callers = 0
const call = (
  email: string,
  from = '192.0.2.1',
  headers = {},
  text?: string,
  path = '/tests/throttled',
): Promise<Answer> => service.call({ method: 'POST', path, from, headers, body: { email, text } })
const everything = async () => JSON.stringify(await itemsOf(service.tableName))
const newEmail = () => `caller-${callers++}@example.com`

test('the sixth request is rejected until the first is a minute old', async () => {
  const email = newEmail()
  for (let n = 0; n < 5; n += 1) {
    expect((await call(email)).status).toBe(200)
    now += 10_000
  }
  const refused = await call(email)
  expect(refused).toMatchObject({
    status: 429,
    json: { error: { code: 'RATE_LIMIT.exceeded' } },
    headers: { 'Retry-After': '10' },
  })
  expect(refused.json.error.details).toEqual({ captcha_required: true })
  now += 9_999
  expect((await call(email)).headers['Retry-After']).toBe('1')
  now += 1
  expect((await call(email)).status).toBe(200)
  expect((await call(email)).status).toBe(429)
})

test('other addresses and other e-mails are counted separately; the case of an e-mail does not matter', async () => {
  const email = newEmail()
  for (let n = 0; n < 5; n += 1) await call(email)
  expect((await call(email.toUpperCase())).status).toBe(429)
  expect((await call(email, '192.0.2.2')).status).toBe(200)
  expect((await call(newEmail())).status).toBe(200)
})

test('addresses in headers are ignored', async () => {
  const email = newEmail()
  for (let n = 0; n < 5; n += 1) await call(email, '192.0.2.1', { 'X-Forwarded-For': `198.51.100.${n}` })
  expect((await call(email, '192.0.2.1', { 'X-Forwarded-For': '198.51.100.9' })).status).toBe(429)
  const event = orderEvent('token') as Parameters<typeof toRequest>[0]
  const headers = { ...event.headers, 'X-Forwarded-For': '198.51.100.1' }
  const requestContext = { ...event.requestContext, identity: { sourceIp: '203.0.113.7' } } as never
  expect(toRequest({ ...event, headers, requestContext }).sourceAddress).toBe('203.0.113.7')
})

test('of bursts of fifty at any times, no window of a minute admits more than five', async () => {
  const steps = fc.array(
    fc.record({ pause: fc.integer({ min: 0, max: 45_000 }), burst: fc.constantFrom(1, 2, 3, 50) }),
    { minLength: 2, maxLength: 5 },
  )
  await fc.assert(
    fc.asyncProperty(steps, async (schedule) => {
      const email = newEmail()
      const admitted: number[] = []
      for (const { pause, burst } of schedule) {
        now += pause
        const answers = await Promise.all(Array.from({ length: burst }, () => call(email)))
        const statuses = answers.map(({ status }) => status)
        expect(statuses.every((status) => status === 200 || status === 429)).toBe(true)
        const free = 5 - admitted.filter((at) => at > now - windowSeconds * 1000).length
        const passed = statuses.filter((status) => status === 200)
        // Exactly the remaining number.
        expect(passed).toHaveLength(Math.min(burst, free))
        admitted.push(...passed.map(() => now))
      }
    }),
    { numRuns: 12, seed: 20_261_123 },
  )
})

test('a key is honored, although its record contains nothing to guess the body from', async () => {
  const headers = { 'Idempotency-Key': 'one' }
  const email = newEmail()
  await call(email, '192.0.2.3', headers, '123456')
  const again = await call(email, '192.0.2.3', headers, '123456')
  expect(again.headers['Idempotency-Status']).toBe('replayed')
  const other = await call(email, '192.0.2.3', headers, '123457')
  expect(other.json.error.code).toBe('CONFLICT.idempotency.payload_mismatch')
  const guess = ({ operation }: { operation: string }) =>
    fingerprint([operation, 'public', {}, {}, null, null, null, [], { email, text: '123456' }])
  expect(await everything()).not.toContain(guess(route))
  // A route that is not confidential stores what the guess finds.
  await call(email, '192.0.2.3', headers, '123456', open.path)
  expect(await everything()).toContain(guess(open))
})

describe('a request with a key', () => {
  const keyed = (email: string, text?: string) =>
    call(email, '192.0.2.4', { 'Idempotency-Key': `of-${email}` }, text)

  test('is counted once for any number of replays', async () => {
    const email = newEmail()
    for (let n = 0; n < 10; n += 1) await keyed(email)
    const statuses = []
    for (let n = 0; n < 5; n += 1) statuses.push((await call(email, '192.0.2.4')).status)
    expect(statuses).toEqual([200, 200, 200, 200, 429])
  })

  test('with another payload is counted, so a key does not confirm guesses', async () => {
    const email = newEmail()
    await keyed(email, '000000')
    const codes = []
    for (let n = 1; n <= 5; n += 1) codes.push((await keyed(email, `00000${n}`)).json.error.code)
    expect(codes).toEqual([...Array(4).fill('CONFLICT.idempotency.payload_mismatch'), 'RATE_LIMIT.exceeded'])
  })
})

test('the table contains neither address nor e-mail', async () => {
  await call('canary@example.com', '203.0.113.99')
  const stored = await everything()
  expect(stored).toContain('rate#')
  expect(stored).not.toMatch(/canary|203\.0\.113/)
})
