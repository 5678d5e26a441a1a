import { beforeAll, describe, expect, test } from '@jest/globals'
import { findCart } from '#shared/carts/cart-store.ts'
import { outcome } from '#test/support/outcome.ts'
import { startService } from '#test/support/service.ts'
import type { Identity } from '#test/support/settings.ts'
import { discountCalls } from './discount-calls.ts'

const service = await startService()
const calls = discountCalls(service)
beforeAll(async () => {
  for (const tenant of ['shop', 'rival']) await calls.makeCode(tenant, 'CODE', 'percent-25')
  await calls.cart('shop', 'owned', 1000, { user_id: 'ada' })
  await calls.cart('shop', 'free', 1000)
})

const applying = (cart: string, as: Identity, tenant = 'shop') =>
  calls.verify(tenant, 'CODE', { 'X-Cart-Id': cart }, as)
const ownerOf = async (cart: string) => (await findCart(service.table, 'shop', cart))?.owner?.subject

describe('a cart with an owner', () => {
  test.each([
    ['its owner', { sub: 'ada' }],
    ['an Editor', { role: 'Editor' }],
    ['an Admin', { role: 'Admin' }],
    ['a Service that acts as an Editor', { role: 'Service' }],
  ])('accepts a code from %s', async (_, as) => {
    expect((await applying('owned', as)).json).toEqual({ applied: true, amount: 250 })
  })

  test('rejects a code from another Viewer of the tenant', async () => {
    expect(outcome(await applying('owned', { sub: 'bob' }))).toBe('403 AUTHZ.role.denied')
  })

  test('is unchanged after a denied Viewer, whose denial is audited with the cart as target', async () => {
    const before = await findCart(service.table, 'shop', 'owned')
    await applying('owned', { sub: 'eve' })
    expect(await findCart(service.table, 'shop', 'owned')).toEqual(before)
    const denials = (await service.items('shop', 'audit')).filter(({ actor_id }) => actor_id === 'eve')
    expect(denials).toEqual([
      expect.objectContaining({ result: 'deny', reason: 'AUTHZ.role.denied', target: 'cart/owned' }),
    ])
  })

  test('does not reveal to a denied Viewer whether a code exists', async () => {
    expect(outcome(await calls.verify('shop', 'NONE', { 'X-Cart-Id': 'owned' }, { sub: 'bob' }))).toBe(
      '403 AUTHZ.role.denied',
    )
  })

  test('looks absent to an Editor of another tenant', async () => {
    expect((await applying('owned', { role: 'Editor' }, 'rival')).status).toBe(404)
  })
})

test('a cart without an owner accepts a code from any Viewer of the tenant', async () => {
  expect((await applying('free', { sub: 'bob' })).status).toBe(200)
})

describe('the owner of a cart', () => {
  const at = (day: number) => ({ occurred_at: `2026-01-0${day}T00:00:00Z` })
  const about = (id: string, data: object) => ({ id, tenant_id: 'shop', ...data })
  const priced = { amount_minor: 1000, currency: 'EUR' }

  test('is kept by an event that states none', async () => {
    await calls.tell('cart.updated', about('kept', { ...priced, user_id: 'ada' }), at(1))
    await calls.tell('cart.updated', about('kept', { ...priced, user_id: null }), at(2))
    expect(await ownerOf('kept')).toBe('ada')
  })

  test('is stored although its event arrives after a later one', async () => {
    await calls.tell('cart.updated', about('late', priced), at(2))
    await calls.tell('cart.updated', about('late', { user_id: 'ada' }), at(1))
    expect(await ownerOf('late')).toBe('ada')
  })

  test('is the latest stated one, regardless of the order in which events arrive', async () => {
    await calls.tell('cart.updated', about('sold', { ...priced, user_id: 'bob' }), at(2))
    await calls.tell('cart.updated', about('sold', { ...priced, user_id: 'ada' }), at(1))
    expect(await ownerOf('sold')).toBe('bob')
  })
})
