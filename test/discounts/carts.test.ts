import { describe, expect, test } from '@jest/globals'
import { is } from 'valibot'
import { type Cart, CartId, nextVersion } from '#shared/carts/cart.ts'

describe('the id of a cart', () => {
  test.each(['!', '~', 'cart-1', 'c'.repeat(255)])('may be %s', (id) => {
    expect(is(CartId, id)).toBe(true)
  })

  test.each([' cart', 'cart ', 'a\ncart', 'cårt'])('is not %j', (id) => {
    expect(is(CartId, id)).toBe(false)
  })
})

describe('the next version of a cart', () => {
  const at = Date.parse('2026-11-28T12:00:00.900Z')
  const seconds = Date.parse('2026-11-28T12:00:00Z') / 1000

  test.each([
    ['of a new cart is the time in seconds', undefined, seconds],
    ['is the time if the version is lower, as after a restore', seconds - 100, seconds],
    ['rises within a second', seconds, seconds + 1],
    ['rises if the version is ahead of the time', seconds + 7, seconds + 8],
  ])('%s', (_, version, expected) => {
    const before: Cart | undefined =
      version === undefined ? undefined : { cart_id: 'c1', tenant_id: 't1', stated: {}, version }
    expect(nextVersion(before, at)).toBe(expected)
  })

  test('is at least 1', () => {
    expect(nextVersion(undefined, 0)).toBe(1)
  })
})
