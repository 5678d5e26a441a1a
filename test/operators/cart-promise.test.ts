import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { cartPromise } from '#bin/commands/verify/data/carts.ts'
import { amountOff, type Pricing } from '#shared/discounts/amount-off.ts'
import { keyOf } from '#shared/platform/table/keys.ts'
import { runs } from '#test/support/runs.ts'
import { localSettings } from '#test/support/settings.ts'

const rule = { rule_id: 'r1', combinable_with_gift_card: true }
/** Rules of every kind. */
const rules: Record<Pricing['kind'], fc.Arbitrary<Pricing>> = {
  percentage: fc
    .integer({ min: 0, max: 10_000 })
    .map((value) => ({ ...rule, kind: 'percentage', value: value / 100 })),
  fixed: fc.nat(5000).map((value) => ({ ...rule, kind: 'fixed', value, currency: 'EUR' })),
}

test.each(Object.entries(rules))('the check of stored carts agrees with a %s rule', (_, anyRule) => {
  fc.assert(
    fc.property(anyRule, fc.nat(10_000), (pricing, amount_minor) => {
      const settings = { ...localSettings, 'codes.types': { any: pricing } }
      const line = {
        code_id: 'c',
        rule_id: 'r1',
        amount_minor: amountOff(pricing, { amount_minor, currency: 'EUR' }, 0, settings),
      }
      const item = { ...keyOf('t', 'cart', 'cart-1'), amount_minor, currency: 'EUR', discounts: [line] }
      const broken: string[] = []
      cartPromise(item, { settings, at: 0 }, (promise, found) => broken.push(`${promise}: ${found}`))
      expect(broken).toEqual([])
    }),
    runs(1000),
  )
})
