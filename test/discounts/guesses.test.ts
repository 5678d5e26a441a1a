import { beforeEach, describe, expect, test } from '@jest/globals'
import { systemClock } from '#shared/platform/base/clock.ts'
import { outcome } from '#test/support/outcome.ts'
import { type Answer, type Service, startService } from '#test/support/service.ts'
import { profile, shortTimeoutSettings } from '#test/support/settings.ts'
import { discountCalls } from './discount-calls.ts'

const limits = { principal: 3, source: 6, tenant: 9 }
const settings = profile('shared/settings/profiles/local.json', {
  'requests.timeoutHeader': shortTimeoutSettings['requests.timeoutHeader'],
  'limits.other': {
    'discount.verify': Object.entries(limits).map(([per, limit]) => {
      return { limit, windowSeconds: 60, per, counts: 'failures' }
    }),
  },
})
const limited = '429 RATE_LIMIT.exceeded'

let now: number
let service: Service
beforeEach(async () => {
  now = Date.now()
  service = await startService({ settings, clock: { ...systemClock, now: () => now } })
})

let keys = 0
function verify(code: string, sub: string, from: string, headers = {}): Promise<Answer> {
  keys += 1
  return service.call({
    method: 'POST',
    path: '/discount/verify',
    as: { tenant: 'shop', role: 'Viewer', sub },
    from,
    headers: { 'Idempotency-Key': `key-${keys}`, ...headers },
    body: { code },
  })
}

describe('guesses of codes', () => {
  test('are rejected beyond the limit of a principal, from any source', async () => {
    for (let n = 0; n < limits.principal; n += 1) await verify('NONE', 'u1', `192.0.2.${n}`)
    const rejected = await verify('NONE', 'u1', '192.0.2.9')
    expect(outcome(rejected)).toBe(limited)
    expect(rejected.headers['Retry-After']).toBe('60')
  })

  test('are rejected beyond the limit of a source, by any principal', async () => {
    for (let n = 0; n < limits.source; n += 1) await verify('NONE', `u${n}`, '192.0.2.1')
    expect(outcome(await verify('NONE', 'another', '192.0.2.1'))).toBe(limited)
    expect((await verify('NONE', 'another', '192.0.2.2')).status).toBe(200)
  })

  test('are rejected beyond the limit of their tenant, by any principal from any source', async () => {
    for (let n = 0; n < limits.tenant; n += 1) await verify('NONE', `u${n}`, `192.0.2.${n}`)
    expect(outcome(await verify('NONE', 'another', '192.0.2.99'))).toBe(limited)
  })

  test('are counted although their time is up', async () => {
    for (let n = 0; n < limits.principal; n += 1)
      await verify('NONE', 'u1', '192.0.2.1', { 'X-Request-Timeout': '1' })
    expect(outcome(await verify('NONE', 'u1', '192.0.2.1'))).toBe(limited)
  })
})

test("a shop's one key may verify any number of codes that apply", async () => {
  await discountCalls(service).makeCode('shop', 'REAL', 'percent-10')
  const statuses: number[] = []
  for (let n = 0; n < 20; n += 1) statuses.push((await verify('REAL', 'shop', '192.0.2.1')).status)
  expect(statuses).toEqual(Array(20).fill(200))
})

test('a cart that is not known yet is no guess, because its cart.updated may be on its way', async () => {
  const statuses: number[] = []
  for (let n = 0; n < 20; n += 1)
    statuses.push((await verify('NONE', 'shop', '192.0.2.1', { 'X-Cart-Id': 'soon' })).status)
  expect(statuses).toEqual(Array(20).fill(404))
})

test('a code that cannot be combined with the gift card of its cart is a guess', async () => {
  const calls = discountCalls(service)
  await calls.makeCode('shop', 'SINGLE', 'percent-10')
  await calls.cart('shop', 'c1', 1000)
  await calls.sendEvent('giftcard.applied', { id: 'c1', tenant_id: 'shop', giftcard_id: 'g1', amount: 100 })
  const onCart = { 'X-Cart-Id': 'c1' }
  for (let n = 0; n < limits.principal; n += 1) await verify('SINGLE', 'u1', '192.0.2.1', onCart)
  expect(outcome(await verify('SINGLE', 'u1', '192.0.2.1', onCart))).toBe(limited)
})
