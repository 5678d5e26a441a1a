import { beforeAll, describe, expect, test } from '@jest/globals'
import { lineItem, linesOf } from '#shared/carts/cart-store.ts'
import { systemClock } from '#shared/platform/clock.ts'
import { publishedEvents } from '#shared/platform/events/outbox.ts'
import { handleEvent } from '#shared/webhooks/handle-event.ts'
import { type Service, startService } from '#test/support/service.ts'
import { profile } from '#test/support/settings.ts'
import { eventOf, signed } from '#test/support/signed-events.ts'

let service: Service
beforeAll(async () => {
  const limits = { 'discount.verify': { limit: 10, windowSeconds: 60, per: 'principal' } }
  service = await startService({
    settings: profile('shared/settings/profiles/local.json', { 'limits.other': limits }),
  })
})

const scope = 'codes:read codes:write'
let keys = 0
const makeCode = async (tenant: string, code: string, type: string, more = {}) => {
  const body = { code, type, name: code, expiry_at: '2099-01-01T00:00:00Z', ...more }
  const headers = { 'Idempotency-Key': `code-${keys++}` }
  return service.call({ method: 'POST', path: '/codes', as: { tenant, role: 'Admin', scope }, headers, body })
}
const verify = (tenant: string, code: string, headers: Record<string, string> = {}, sub = `user-${keys++}`) =>
  service.call({
    method: 'POST',
    path: '/discount/verify',
    as: { tenant, role: 'Viewer', sub },
    headers: { 'Idempotency-Key': `verify-${keys++}`, ...headers },
    body: { code },
  })
const tell = async (type: string, data: Record<string, unknown> & { id: string }) => {
  const event = eventOf(type, data)
  const body = JSON.stringify(event)
  await service.call({ method: 'POST', path: '/v1/webhooks/events', headers: signed(body), body })
  await handleEvent(event.event_id, { table: service.table, clock: systemClock, settings: service.settings })
}
const cart = (tenant_id: string, id: string, amount_minor: number, currency = 'EUR') =>
  tell('cart.updated', { id, tenant_id, amount_minor, currency })
const eventsOf = async (tenant: string) =>
  (await service.items(tenant, 'verification')).flatMap(publishedEvents)

describe('a code on a cart', () => {
  test.each([
    ['percent-10', 1005, 100],
    ['percent-10', 1015, 102],
    ['percent-25', 999, 250],
    ['fixed-500', 2000, 500],
    ['fixed-500', 300, 300],
    ['percent-10', 0, 0],
  ])('%s takes off a cart of %d, half to even, %d', async (type, amount_minor, amount) => {
    const tenant = `priced-${type}-${amount_minor}`
    await makeCode(tenant, 'CODE', type)
    await cart(tenant, 'c1', amount_minor)
    const answer = await verify(tenant, ' code ', { 'X-Cart-Id': 'c1' })
    expect([answer.status, answer.json]).toEqual([200, { applied: true, amount }])
    expect(await eventsOf(tenant)).toEqual([
      expect.objectContaining({
        type: 'promo.applied',
        data: expect.objectContaining({ cart_id: 'c1', code: 'CODE', amount, rule_id: type }),
      }),
    ])
  })

  test('is one line and one answer however often it is verified', async () => {
    await makeCode('lines', 'CODE', 'percent-25')
    await cart('lines', 'c1', 1000)
    const headers = { 'X-Cart-Id': 'c1', 'Idempotency-Key': 'same' }
    const first = await verify('lines', 'CODE', headers, 'u')
    const again = await verify('lines', 'CODE', headers, 'u')
    expect([again.body, again.headers['Idempotency-Status']]).toEqual([first.body, 'replayed'])
    const other = await verify('lines', 'CODE', { ...headers, 'X-Cart-Id': 'c2' }, 'u')
    expect(other.json.error.code).toBe('CONFLICT.idempotency.payload_mismatch')
    await verify('lines', 'CODE', { 'X-Cart-Id': 'c1' })
    const lines = await linesOf(service.table, 'lines', 'c1')
    expect(lines.map(({ kind, name, amount_minor }) => [kind, name, amount_minor])).toEqual([
      ['discount', 'CODE', 250],
    ])
  })

  test('that may not be combined is refused beside a gift card, however many discounts there are', async () => {
    await makeCode('crowded', 'ALONE', 'percent-10')
    await cart('crowded', 'c1', 1000)
    const occurred_at = '2026-01-01T00:00:00.000Z'
    for (let n = 0; n < 101; n += 1) {
      const line = { cart_id: 'c1', kind: 'discount' as const, name: `D${n}`, amount_minor: 1, occurred_at }
      await service.table.put({ item: lineItem('crowded', line), condition: 'none' })
    }
    await tell('giftcard.applied', { id: 'c1', tenant_id: 'crowded', giftcard_id: 'g1', amount: 5 })
    expect((await verify('crowded', 'ALONE', { 'X-Cart-Id': 'c1' })).status).toBe(409)
  })

  test('that may not be combined is refused beside a gift card, and that is told', async () => {
    await makeCode('carded', 'ALONE', 'percent-10')
    await makeCode('carded', 'BOTH', 'percent-25')
    await cart('carded', 'c1', 1000)
    await tell('giftcard.applied', { id: 'c1', tenant_id: 'carded', giftcard_id: 'g1', amount: 5 })
    const refused = await verify('carded', 'ALONE', { 'X-Cart-Id': 'c1' })
    expect([refused.status, refused.json.error.code]).toEqual([409, 'CONFLICT.code.not_combinable'])
    expect((await verify('carded', 'BOTH', { 'X-Cart-Id': 'c1' })).json).toEqual({
      applied: true,
      amount: 250,
    })
    expect((await eventsOf('carded')).map(({ type, data }) => [type, data.error_code])).toEqual([
      ['promo.rejected', 'CONFLICT.code.not_combinable'],
      ['promo.applied', undefined],
    ])
  })

  test('without a cart is checked alone, and a cart that nobody told of is not found', async () => {
    await makeCode('cartless', 'CODE', 'percent-10')
    expect((await verify('cartless', 'CODE')).json).toEqual({ applied: true, amount: 0 })
    const lost = await verify('cartless', 'CODE', { 'X-Cart-Id': 'nowhere' })
    expect([lost.status, lost.json.error.code]).toEqual([404, 'NOT_FOUND.cart'])
  })
})

test('a code that is unknown, deleted, another tenant’s or of another currency is answered like any other', async () => {
  const tenant = 'guessed'
  const deleted = await makeCode(tenant, 'DELETED', 'percent-10')
  await service.call({
    method: 'DELETE',
    path: `/codes/${deleted.json.id}`,
    as: { tenant, role: 'Editor', scope },
  })
  await makeCode('neighbour', 'FOREIGN', 'percent-10')
  await makeCode(tenant, 'EUROS', 'fixed-500')
  await cart(tenant, 'yen', 1000, 'JPY')
  const answers = [
    await verify(tenant, 'UNKNOWN'),
    await verify(tenant, 'DELETED'),
    await verify(tenant, 'FOREIGN'),
    await verify(tenant, 'EUROS', { 'X-Cart-Id': 'yen' }),
  ]
  for (const { status, body } of answers)
    expect([status, body]).toEqual([200, '{"applied":false,"amount":0}'])
  const told = await eventsOf(tenant)
  expect(told.map(({ type, data }) => `${type} ${data.error_code}`)).toEqual(
    Array.from({ length: 4 }, () => 'promo.rejected CODE.invalid'),
  )
})

test.each([
  [
    'ABCDEFGHIJKLMNOPQ',
    'VALIDATION.code.length.exceeds',
    { reason: 'too_long', min: 1, max: 16, actual: 17 },
  ],
  ['A B', 'VALIDATION.code.charset', { reason: 'format', regex: '^[A-Z0-9-]+$' }],
])('%s is refused with %s', async (code, error, details) => {
  const answer = await verify('malformed', code)
  expect([answer.status, answer.json.error.code, answer.json.error.details.fields.code]).toEqual([
    400,
    error,
    details,
  ])
})

test('promo.applied has one event id for one correlation id', async () => {
  await makeCode('correlated', 'CODE', 'percent-10')
  for (let n = 0; n < 2; n += 1) await verify('correlated', 'CODE', { 'X-Correlation-Id': 'corr-7' })
  const ids = (await eventsOf('correlated')).map(({ event_id }) => event_id)
  expect([ids.length, new Set(ids).size]).toEqual([2, 1])
})

test('of fifty guesses at once ten are answered, and the others told when to come again', async () => {
  const answers = await Promise.all(Array.from({ length: 50 }, () => verify('burst', 'CODE', {}, 'guesser')))
  const admitted = answers.filter(({ status }) => status === 200)
  const throttled = answers.filter(({ status }) => status === 429)
  // On a machine that is too busy for all of them, some are told to try again: never are more let in.
  const late = answers.filter(({ status }) => status >= 500)
  expect(admitted.length).toBeLessThanOrEqual(10)
  expect(admitted.length + throttled.length + late.length).toBe(50)
  if (late.length === 0) expect(admitted).toHaveLength(10)
  for (const { json, headers } of throttled) {
    expect(json.error.code).toBe('RATE_LIMIT.exceeded')
    expect(Number(headers['Retry-After'])).toBeGreaterThan(50)
  }
}, 60_000)
