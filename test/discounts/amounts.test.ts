import { describe, expect, test } from '@jest/globals'
import { type Cart, type CartDiscount, isPriced, type PricedCart } from '#shared/carts/cart.ts'
import type { Code } from '#shared/codes/code.ts'
import { amountOff, type Pricing } from '#shared/discounts/amount-off.ts'
import { discountsOf, type PricedCode, priceCode, usableCodes } from '#shared/discounts/cart-discounts.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import type { Settings } from '#shared/settings/register.ts'
import { localSettings } from '#test/support/settings.ts'
import { newMemoryTable, openTable } from '#test/support/tables.ts'

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
  const priced = (code: string, pricing: Pricing) => ({ code, code_id: `id-${code}`, pricing })
  const quarter = priced('QUARTER', percent(25))
  const five = priced('FIVE', { ...fixed(500), rule_id: 'r2' })
  const applying = { settings: localSettings, correlationId: 'corr' }
  const at = (amount_minor: number, before: CartDiscount[] = [], version = 2) =>
    ({ ...cart, cart_id: 'c1', tenant_id: 'shop', amount_minor, discounts: before, version }) as PricedCart
  const on = (found: PricedCart, codes: PricedCode[]) => {
    const { discounts, events } = discountsOf(found, codes, applying)
    return {
      lines: discounts.map(({ code, amount_minor, version }) => `${code} ${amount_minor} v${version}`),
      events: events
        .filter(({ name }) => name === 'promo.applied.v1')
        .map(({ data }) => `${data.code} ${data.amount} v${data.version} ${data.rule_id}`),
    }
  }
  const appliedOn = (amount: number, codes: PricedCode[]) =>
    discountsOf(at(amount), codes, applying).discounts

  test.each([
    [1000, ['QUARTER 250 v2', 'FIVE 500 v2']],
    [600, ['QUARTER 150 v2', 'FIVE 450 v2']],
    [0, ['QUARTER 0 v2', 'FIVE 0 v2']],
  ])('on a cart of %d follow their rules in the order of application', (amount, lines) => {
    expect(on(at(amount), [quarter, five]).lines).toEqual(lines)
  })

  test('are at most what the codes before them leave', () => {
    expect(on(at(600), [five, quarter]).lines).toEqual(['FIVE 500 v2', 'QUARTER 100 v2'])
  })

  test('that are new are published with their rule and the version of the cart', () => {
    expect(on(at(1000), [quarter, five]).events).toEqual(['QUARTER 250 v2 r1', 'FIVE 500 v2 r2'])
  })

  test('that stay the same keep their version and are not published', () => {
    const { lines, events } = on(at(1200, appliedOn(1000, [five, quarter]), 3), [five, quarter])
    expect(lines).toEqual(['FIVE 500 v2', 'QUARTER 300 v3'])
    expect(events).toEqual(['QUARTER 300 v3 r1'])
  })

  test('of a removed code are published as 0, and what it took goes to the next ones', () => {
    const { lines, events } = on(at(600, appliedOn(600, [five, quarter]), 3), [quarter])
    expect(lines).toEqual(['QUARTER 150 v3'])
    expect(events).toEqual(['FIVE 0 v3 r2', 'QUARTER 150 v3 r1'])
  })

  test('are new on a cart that had none', () => {
    const { discounts: _, ...bare } = at(1000)
    expect(on(bare, [quarter])).toEqual({ lines: ['QUARTER 250 v2'], events: ['QUARTER 250 v2 r1'] })
  })

  test('of a removed code that had none are not published', () => {
    expect(on(at(500, appliedOn(500, [five, quarter]), 3), [five])).toEqual({
      lines: ['FIVE 500 v2'],
      events: [],
    })
  })

  test('have no line for a code in another currency', () => {
    expect(on(at(1000), [priced('YEN', fixed(500, 'JPY')), quarter]).lines).toEqual(['QUARTER 250 v2'])
  })

  test.each<[string, PricedCode]>([
    ['another rule', { ...quarter, pricing: { ...percent(25), rule_id: 'other' } }],
    ['another code with the same text', { ...quarter, code_id: 'other' }],
  ])('are published again with the same amount by %s', (_, changed) => {
    expect(on(at(1000, appliedOn(1000, [quarter]), 3), [changed]).lines).toEqual(['QUARTER 250 v3'])
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

describe('a code', () => {
  const now = Date.parse('2026-06-01T00:00:00.000Z')
  const code = {
    id: 'id-1',
    code: 'CODE',
    type: 'percent-25',
    state: 'active',
    expiry_at: '2026-06-01T00:00:00.000Z',
  } as Code

  test('that is active and has not expired has the pricing rule of its type', () => {
    const pricing = localSettings['codes.types']['percent-25']
    expect(priceCode(code, now, localSettings)).toEqual({ code: 'CODE', code_id: 'id-1', pricing })
  })

  test.each<[string, object | undefined, string]>([
    ['absent', undefined, 'NOT_FOUND.code'],
    ['soft-deleted', { state: 'soft_deleted' }, 'GONE.code'],
    ['archived', { state: 'archived' }, 'POLICY.code.inactive'],
    ['expired', { expiry_at: '2026-05-31T23:59:59.999Z' }, 'POLICY.code.expired'],
    ['of an unknown type', { type: 'percent-99' }, 'POLICY.code.inactive'],
  ])('that is %s has none', (_, changes, reason) => {
    expect(priceCode(changes && { ...code, ...changes }, now, localSettings)).toBe(reason)
  })
})

describe('the codes on a cart', () => {
  const now = Date.parse('2026-06-01T00:00:00.000Z')
  const stored = { type: 'percent-25', state: 'active', expiry_at: '2099-01-01T00:00:00.000Z' }
  const codeOf = (text: string, changes = {}) =>
    ({ ...stored, id: `id-${text}`, code: text, ...changes }) as Code
  const lineOf = (code: string) => ({
    code,
    code_id: `id-${code}`,
    rule_id: 'r1',
    amount_minor: 1,
    version: 1,
  })

  /** Returns the usable codes of a cart by their texts, and the number of keys of each read. */
  const usableOn = async (texts: string[] | undefined, codes: Code[], known?: Code) => {
    const table = openTable(newMemoryTable())
    for (const code of codes)
      await table.put({ item: { ...keyOf('shop', 'code', code.id), ...code }, condition: 'none' })
    const reads: number[] = []
    const getMany: typeof table.getMany = (keys) => {
      reads.push(keys.length)
      return table.getMany(keys)
    }
    const discounts = texts && { discounts: texts.map(lineOf) }
    const priced = { ...cart, cart_id: 'c1', tenant_id: 'shop', stated: {}, version: 1, ...discounts }
    const reading = { table: { ...table, getMany }, settings: localSettings, now }
    const usable = await usableCodes(priced, reading, known)
    return { usable: usable.map((one) => one.code ?? one), reads }
  }

  test('are read at once, in the order of application', async () => {
    const codes = ['A', 'B', 'C'].map((text) => codeOf(text))
    expect(await usableOn(['C', 'A', 'B'], codes)).toEqual({ usable: ['C', 'A', 'B'], reads: [3] })
  })

  test('are left out if they are unusable', async () => {
    const codes = [codeOf('A', { state: 'archived' }), codeOf('B')]
    expect(await usableOn(['A', 'B', 'DELETED'], codes)).toEqual({ usable: ['B'], reads: [3] })
  })

  test('are not read again if they are known', async () => {
    const known = codeOf('A')
    expect(await usableOn(['A', 'B'], [codeOf('B')], known)).toEqual({ usable: ['A', 'B'], reads: [1] })
    expect(await usableOn(['A'], [], known)).toEqual({ usable: ['A'], reads: [] })
  })

  test('are none on a cart without discounts, and nothing is read', async () => {
    expect(await usableOn(undefined, [])).toEqual({ usable: [], reads: [] })
  })
})
