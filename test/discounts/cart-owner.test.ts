import { beforeAll, describe, expect, test } from '@jest/globals'
import { findCart } from '#shared/carts/cart-store.ts'
import { newSession } from '#test/support/one-time-codes.ts'
import { outcome } from '#test/support/outcome.ts'
import { startService } from '#test/support/service.ts'
import { type Identity, localSettings } from '#test/support/settings.ts'
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
const ownerOf = async (cart: string) => (await findCart(service.table, 'shop', cart))?.owner

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

  test('rejects a code from the same subject of another issuer', async () => {
    const issuers = localSettings['auth.issuers']
    const [first] = issuers
    if (!first) throw new Error('no issuer')
    const another = { ...first, issuer: 'https://another.localhost' }
    const settings = { ...localSettings, 'auth.issuers': [first, another] }
    const both = await startService({ settings, tableName: service.tableName })
    const as = { sub: 'ada', claims: { iss: another.issuer } }
    const answer = await discountCalls(both).verify('shop', 'CODE', { 'X-Cart-Id': 'owned' }, as)
    expect(outcome(answer)).toBe('403 AUTHZ.role.denied')
  })

  const pool = 'https://cognito-idp.us-east-1.amazonaws.com/us-east-1_pool'
  test.each([
    [pool, '200'],
    ['https://issuer.localhost', '403 AUTHZ.role.denied'],
  ])('has an owner of the user pool, if the setting says so: %s gets %s', async (iss, expected) => {
    const settings = { ...localSettings, 'discount.cartOwners': 'user_pool' }
    const other = await startService({ settings, tableName: service.tableName })
    const caller = { sub: 'ada', tenant: 'shop', role: 'Viewer' as const, scopes: new Set<string>() }
    Object.assign(other.runtime, {
      tokens: { verify: async () => ({ ...caller, claims: { iss } }) },
      environment: (name: string) => (name === 'USER_POOL_ISSUER' ? pool : undefined),
    })
    expect(outcome(await discountCalls(other).verify('shop', 'CODE', { 'X-Cart-Id': 'owned' }))).toBe(
      expected,
    )
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

  test.each([
    ['sessions', '200'],
    ['https://issuer.localhost', '403 AUTHZ.role.denied'],
  ])('has an owner with a session, if the setting says so: %s gets %s', async (name, expected) => {
    const settings = { ...localSettings, 'discount.cartOwners': name }
    const other = await startService({ settings, tableName: service.tableName })
    const { headers } = await newSession(other)
    const cart_id = `of-a-session-${name.length}`
    const user_id = (await other.items('public', 'session')).at(-1)?.user_id
    await calls.cart('public', cart_id, 1000, { user_id })
    const sent = { ...headers, 'Idempotency-Key': 'k', 'X-Cart-Id': cart_id }
    const body = { code: 'NONE' }
    const answer = await other.call({ method: 'POST', path: '/discount/verify', headers: sent, body })
    expect(outcome(answer)).toBe(expected)
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
    await calls.sendEvent('cart.updated', about('kept', { ...priced, user_id: 'ada' }), at(1))
    await calls.sendEvent('cart.updated', about('kept', { ...priced, user_id: null }), at(2))
    expect(await ownerOf('kept')).toBe('ada')
  })

  test('is stored although its event arrives after a later one', async () => {
    await calls.sendEvent('cart.updated', about('late', priced), at(2))
    await calls.sendEvent('cart.updated', about('late', { user_id: 'ada' }), at(1))
    expect(await ownerOf('late')).toBe('ada')
  })

  test('is the latest stated one, regardless of the order in which events arrive', async () => {
    await calls.sendEvent('cart.updated', about('sold', { ...priced, user_id: 'bob' }), at(2))
    await calls.sendEvent('cart.updated', about('sold', { ...priced, user_id: 'ada' }), at(1))
    expect(await ownerOf('sold')).toBe('bob')
  })
})
