import * as v from 'valibot'
import { setting } from '../setting.ts'

/** Where something stands in the data of an event. */
const inData = v.pipe(
  v.string(),
  v.regex(/^data(\.[A-Za-z_][A-Za-z0-9_]*)+$/, 'a path such as data.amount_minor'),
)

export const discount = {
  'discount.cart': setting({
    open: 'the header by which a verification names its cart',
    contract: 'POST /discount/verify',
    feature: 'discount',
    schema: v.strictObject({ header: v.pipe(v.string(), v.minLength(1)) }),
  }),
  'discount.cartFields': setting({
    open: 'where the amount and currency of a cart stand in cart.updated',
    contract: 'Events',
    feature: 'discount',
    schema: v.strictObject({ amount: inData, currency: inData }),
  }),
  'discount.rejection': setting({
    open: 'the answer for an unknown, expired, archived or soft-deleted code',
    contract: 'POST /discount/verify',
    feature: 'discount',
    precedent: 'OWASP, against enumeration',
    schema: v.strictObject({ status: v.picklist([200, 404]) }),
  }),
  'discount.amount': setting({
    open: 'the unit and rounding of an amount, and whether it may pass the cart',
    contract: 'POST /discount/verify',
    feature: 'discount',
    schema: v.strictObject({
      unit: v.literal('minor'),
      rounding: v.picklist(['half-even', 'half-up', 'down']),
      cappedAtCart: v.boolean(),
    }),
  }),
}
