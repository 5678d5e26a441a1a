import { describe, expect, test } from '@jest/globals'
import { type Item, keyOf } from '#shared/platform/table/keys.ts'
import { outcome } from '#test/support/outcome.ts'
import { startService } from '#test/support/service.ts'
import { profile } from '#test/support/settings.ts'
import { discountCalls } from './discount-calls.ts'

const changes = {
  'limits.other': {
    'discount.verify': [{ limit: 10, windowSeconds: 60, per: 'principal', counts: 'failures' }],
  },
  'discount.combination': { maxCodes: 100 },
}
const service = await startService({ settings: profile('shared/settings/profiles/local.json', changes) })
const { makeCode, verify, sendEvent, cart, eventsOf, linesOf } = discountCalls(service)

describe('a code on a cart', () => {
  test.each([
    ['percent-10', 1015, 102],
    ['fixed-500', 300, 300],
  ])('%s discounts a cart of %d by %d', async (type, amount_minor, amount) => {
    const tenant = `priced-${type}-${amount_minor}`
    await makeCode(tenant, 'CODE', type)
    await cart(tenant, 'c1', amount_minor)
    const answer = await verify(tenant, ' code ', { 'X-Cart-Id': 'c1' })
    expect([answer.status, answer.json]).toEqual([200, { applied: true, amount }])
    expect(eventsOf(tenant)).toEqual([
      expect.objectContaining({
        type: 'promo.applied',
        data: expect.objectContaining({ cart_id: 'c1', code: 'CODE', amount, rule_id: type }),
      }),
    ])
  })

  test('is one line and one response for repeated verifications', async () => {
    await makeCode('lines', 'CODE', 'percent-25')
    await cart('lines', 'c1', 1000)
    const headers = { 'X-Cart-Id': 'c1', 'Idempotency-Key': 'same' }
    const first = await verify('lines', 'CODE', headers, { sub: 'u' })
    const again = await verify('lines', 'CODE', headers, { sub: 'u' })
    expect([again.body, again.headers['Idempotency-Status']]).toEqual([first.body, 'replayed'])
    await verify('lines', 'CODE', { 'X-Cart-Id': 'c1' })
    expect(await linesOf('lines', 'c1')).toEqual(['CODE 250'])
  })

  test('that is not combinable is rejected next to a gift card, and the rejection is published', async () => {
    await makeCode('carded', 'ALONE', 'percent-10')
    await makeCode('carded', 'BOTH', 'percent-25')
    await cart('carded', 'c1', 1000)
    await sendEvent('giftcard.applied', { id: 'c1', tenant_id: 'carded', giftcard_id: 'g1', amount: 5 })
    const refused = await verify('carded', 'ALONE', { 'X-Cart-Id': 'c1' })
    expect(outcome(refused)).toBe('409 CONFLICT.code.not_combinable')
    expect(refused.json.error.details).toEqual({ reason: 'gift_card' })
    expect((await verify('carded', 'BOTH', { 'X-Cart-Id': 'c1' })).json).toEqual({
      applied: true,
      amount: 250,
    })
    expect(eventsOf('carded').map(({ type, data }) => [type, data.error_code])).toEqual([
      ['promo.rejected', 'CONFLICT.code.not_combinable'],
      ['promo.applied', undefined],
    ])
  })

  test('returns 404 for an unknown cart', async () => {
    expect(outcome(await verify('cartless', 'CODE', { 'X-Cart-Id': 'nowhere' }))).toBe('404 NOT_FOUND.cart')
  })

  test.each([
    ['empty', '', 'too_short'],
    ['blank', ' ', 'format'],
    ['repeated', 'c1, c1', 'format'],
    ['too long', 'c'.repeat(256), 'too_long'],
    ['not ASCII', 'ä', 'format'],
  ])('is rejected with the header if that is %s', async (name, header, reason) => {
    const { status, json } = await verify(`malformed-${name.replace(' ', '-')}`, 'CODE', {
      'X-Cart-Id': header,
    })
    const { 'X-Cart-Id': problem } = json.error.details.fields
    expect([status, json.error.code, problem.reason]).toEqual([400, 'VALIDATION.header.invalid', reason])
  })

  test('is not found until the cart is received, and is applied then, with the same key', async () => {
    await makeCode('early', 'CODE', 'percent-25')
    const request = () => verify('early', 'CODE', { 'X-Cart-Id': 'c1', 'Idempotency-Key': 'k' }, { sub: 'u' })
    expect((await request()).json.error).toMatchObject({ code: 'NOT_FOUND.cart', retryable: false })
    await cart('early', 'c1', 1000)
    expect((await request()).json).toEqual({ applied: true, amount: 250 })
  })

  test('returns 404 for a cart whose amount was not received', async () => {
    await sendEvent('cart.updated', { id: 'c1', cart_id: 'c1', tenant_id: 'unpriced', user_id: 'u' })
    expect(outcome(await verify('unpriced', 'CODE', { 'X-Cart-Id': 'c1' }, { sub: 'u' }))).toBe(
      '404 NOT_FOUND.cart',
    )
  })
})

describe('a code without a cart', () => {
  test('is verified with a discount of zero', async () => {
    await makeCode('cartless', 'CODE', 'percent-10')
    expect((await verify('cartless', 'CODE')).json).toEqual({ applied: true, amount: 0 })
  })

  test('is not published as applied', async () => {
    await makeCode('unannounced', 'CODE', 'percent-10')
    await verify('unannounced', 'CODE')
    expect(eventsOf('unannounced')).toEqual([])
  })
})

test('a code that is unknown, deleted, of another tenant or of another currency gets one indistinguishable response', async () => {
  const tenant = 'guessed'
  const deleted = await makeCode(tenant, 'DELETED', 'percent-10')
  await service.call({
    method: 'DELETE',
    path: `/codes/${deleted.json.id}`,
    as: { tenant, role: 'Editor', scope: 'codes:read codes:write' },
  })
  await makeCode('neighbour', 'FOREIGN', 'percent-10')
  await makeCode(tenant, 'EUROS', 'fixed-500')
  await cart(tenant, 'yen', 1000, { currency: 'JPY' })
  const answers = [
    await verify(tenant, 'UNKNOWN'),
    await verify(tenant, 'DELETED'),
    await verify(tenant, 'FOREIGN'),
    await verify(tenant, 'EUROS', { 'X-Cart-Id': 'yen' }),
  ]
  for (const { status, body } of answers)
    expect([status, body]).toEqual([200, '{"applied":false,"amount":0}'])
  const published = eventsOf(tenant)
  expect(published.map(({ type, data }) => `${type} ${data.error_code}`)).toEqual([
    'promo.rejected NOT_FOUND.code',
    'promo.rejected GONE.code',
    'promo.rejected NOT_FOUND.code',
    'promo.rejected POLICY.code.currency',
  ])
})

test.each<[name: string, changes: object, reason: string]>([
  ['has expired', { expiry_at: '2020-01-01T00:00:00.000Z' }, 'POLICY.code.expired'],
  ['is a draft', { state: 'draft' }, 'POLICY.code.inactive'],
  ['has a type without a price rule', { type: 'percent-99' }, 'POLICY.code.inactive'],
])('a code that %s gets the response of an unknown one, and is published with the reason', async (...row) => {
  const [name, changes, reason] = row
  const tenant = `unusable-${name.replaceAll(' ', '-')}`
  const { json } = await makeCode(tenant, 'CODE', 'percent-10')
  const item = (await service.table.get(keyOf(tenant, 'code', json.id))) as Item
  await service.table.put({ item: { ...item, ...changes }, condition: 'none' })
  await cart(tenant, 'c1', 1000)
  for (const headers of [{}, { 'X-Cart-Id': 'c1' }]) {
    const [unknown, known] = [await verify(tenant, 'OTHER', headers), await verify(tenant, 'CODE', headers)]
    expect([known.status, known.body]).toEqual([unknown.status, unknown.body])
  }
  const rejected = eventsOf(tenant).filter(({ data }) => data.code === 'CODE')
  const data = { error_code: reason, cart_id: 'c1' }
  expect(rejected.at(-1)).toMatchObject({ type: 'promo.rejected', data })
})

test('a code that is too long is rejected with the limit', async () => {
  const { json } = await verify('malformed', 'ABCDEFGHIJKLMNOPQ')
  expect(json.error.code).toBe('VALIDATION.code.length.exceeds')
  expect(json.error.details.fields.code).toMatchObject({ reason: 'too_long', max: 16, actual: 17 })
})

describe('the id of an event', () => {
  /** Verifies codes on carts with one correlation id, and returns the number of published events and of their ids. */
  const idsOf = async (tenant: string, verified: string) => {
    for (const code of ['ONE', 'TWO']) await makeCode(tenant, code, 'percent-10')
    for (const id of ['c1', 'c2']) await cart(tenant, id, 1000)
    for (const [code = '', id = ''] of verified.split(', ').map((one) => one.split(' on ')))
      await verify(tenant, code, { 'X-Correlation-Id': 'corr-7', 'X-Cart-Id': id })
    const ids = eventsOf(tenant).map(({ event_id }) => event_id)
    return [ids.length, new Set(ids).size]
  }

  test.each([
    ['differs for two carts', 'ONE on c1, ONE on c2', [2, 2]],
    ['differs for two codes', 'ONE on c1, TWO on c1', [2, 2]],
    ['differs for two carts that reject a code', 'NONE on c1, NONE on c2', [2, 2]],
    ['differs for two rejected codes', 'NONE on c1, NEVER on c1', [2, 2]],
    ['differs for a code that is applied and one that is rejected', 'ONE on c1, NONE on c1', [2, 2]],
    ['is the same for a code that a cart rejects twice', 'NONE on c1, NONE on c1', [2, 1]],
  ])('%s in one correlation', async (name, verified, ids) => {
    expect(await idsOf(name.replaceAll(' ', '-'), verified)).toEqual(ids)
  })

  test('differs for two changes of one discount in one correlation', async () => {
    await idsOf('changed-twice', 'ONE on c1')
    for (const amount of [500, 1000]) await cart('changed-twice', 'c1', amount, { correlation_id: 'corr-7' })
    const ids = eventsOf('changed-twice').map(({ event_id }) => event_id)
    expect([ids.length, new Set(ids).size]).toEqual([3, 3])
  })
})

test('a code that is verified again on the same cart is published once', async () => {
  await makeCode('repeated', 'CODE', 'percent-10')
  await cart('repeated', 'c1', 1000)
  for (let n = 0; n < 2; n += 1)
    expect((await verify('repeated', 'CODE', { 'X-Cart-Id': 'c1' })).json.amount).toBe(100)
  expect(eventsOf('repeated')).toHaveLength(1)
})
