import { describe, expect, test } from '@jest/globals'
import { type Cart, cutTo, discountsOf, isPriced, sumOf } from '#shared/carts/cart.ts'
import { amountOff, type Pricing } from '#shared/discounts/amount-off.ts'
import type { Settings } from '#shared/settings/register.ts'
import { localSettings } from '#test/support/settings.ts'

const cart = { amount_minor: 1000, currency: 'EUR' }
const rule = { rule_id: 'r1', combinable_with_gift_card: true }
const percent = (value: number): Pricing => ({ ...rule, kind: 'percentage', value })
const fixed = (value: number, currency = 'EUR'): Pricing => ({ ...rule, kind: 'fixed', value, currency })
const off = (
  pricing: Pricing,
  {
    amount = 1000,
    others = 0,
    ...changes
  }: Partial<Settings['discount.amount']> & { amount?: number; others?: number } = {},
) => {
  const settings = {
    ...localSettings,
    'discount.amount': { ...localSettings['discount.amount'], ...changes },
  }
  return amountOff(pricing, { ...cart, amount_minor: amount }, others, settings)
}

describe('the amount of a discount', () => {
  test.each([
    ['half-even', 250, 2],
    ['half-even', 350, 4],
    ['half-up', 250, 3],
    ['half-up', 249, 2],
    ['down', 299, 2],
  ] as const)('rounded %s, 1 %% of %d is %d', (rounding, amount, expected) => {
    expect(off(percent(1), { rounding, amount })).toBe(expected)
  })

  test('is exact for a share that no double represents', () => {
    expect(off(percent(1.1), { amount: 5000, rounding: 'half-up' })).toBe(55)
    expect(off(percent(0.7), { amount: 100_000, rounding: 'down' })).toBe(700)
  })

  test('that is fixed is in the currency of the cart, or there is none', () => {
    expect(off(fixed(250))).toBe(250)
    expect(off(fixed(250, 'USD'))).toBeUndefined()
  })

  test.each([
    [400, 300, 400],
    [400, 700, 300],
    [400, 1000, 0],
    [400, 1200, 0],
  ])('of %d on a cart of 1000 with other discounts of %d is %d', (value, others, expected) => {
    expect(off(fixed(value), { others })).toBe(expected)
  })

  test('may exceed the cart if the settings say so', () => {
    expect(off(fixed(1500), { cappedAtCart: false, others: 700 })).toBe(1500)
  })
})

describe('the discounts of a cart', () => {
  const line = (kind: 'discount' | 'giftcard', name: string, amount_minor: number) =>
    ({ kind, name, amount_minor }) as never
  const two = [
    { code: 'A', amount_minor: 300 },
    { code: 'B', amount_minor: 200 },
  ]

  test('are its own, or else those of its lines', () => {
    const lines = [line('discount', 'C', 7), line('giftcard', 'D', 9)]
    expect(discountsOf({ discounts: two } as Cart, lines)).toEqual(two)
    expect(discountsOf({} as Cart, lines)).toEqual([{ code: 'C', amount_minor: 7 }])
  })

  test('have a sum', () => {
    expect(sumOf(two)).toBe(500)
    expect(sumOf([])).toBe(0)
  })

  test.each([
    [500, [300, 200]],
    [400, [300, 100]],
    [300, [300, 0]],
    [100, [100, 0]],
  ])('are cut to %d, the last one first', (limit, amounts) => {
    expect(cutTo(limit, two)).toEqual([
      { code: 'A', amount_minor: amounts[0] },
      { code: 'B', amount_minor: amounts[1] },
    ])
  })

  test.each<[object | undefined, boolean]>([
    [cart, true],
    [{ amount_minor: 0, currency: 'EUR' }, true],
    [{ amount_minor: 1 }, false],
    [{ currency: 'EUR' }, false],
    [undefined, false],
  ])('need an amount and a currency: %j', (given, expected) => {
    expect(isPriced(given as Cart | undefined)).toBe(expected)
  })
})
