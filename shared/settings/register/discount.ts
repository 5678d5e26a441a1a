import * as v from 'valibot'
import { setting } from '../setting.ts'

/** The path of a property in the data of an event. */
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
    open: 'the paths of amount, currency and owner of a cart in cart.updated; the owner is the subject of a caller',
    contract: 'Events',
    feature: 'discount',
    schema: v.strictObject({ amount: inData, currency: inData, owner: inData }),
  }),
  'discount.mayApply': setting({
    open: 'who may apply a code to a cart: all who may read in its tenant (readers); of a cart with an owner, only the owner and who may update (owner); or only who may update (editors)',
    contract: 'POST /discount/verify',
    feature: 'discount',
    schema: v.picklist(['readers', 'owner', 'editors']),
  }),
  'discount.combination': setting({
    open: 'how many codes one cart may hold; with 1, no two can be combined',
    contract: 'POST /discount/verify',
    feature: 'discount',
    precedent: 'Voucherify',
    schema: v.strictObject({
      maxCodes: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100)),
    }),
  }),
  'discount.rejection': setting({
    open: 'the answer for an unknown, expired, archived or soft-deleted code',
    contract: 'POST /discount/verify',
    feature: 'discount',
    precedent: 'OWASP, against enumeration',
    schema: v.strictObject({ status: v.picklist([200, 404]) }),
  }),
  'discount.amount': setting({
    open: 'the unit and rounding of an amount, and whether the sum of all codes on a cart may exceed the cart',
    contract: 'POST /discount/verify',
    feature: 'discount',
    schema: v.strictObject({
      unit: v.literal('minor'),
      rounding: v.picklist(['half-even', 'half-up', 'down']),
      cappedAtCart: v.boolean(),
    }),
  }),
}
