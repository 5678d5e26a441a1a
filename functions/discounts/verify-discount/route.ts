import * as v from 'valibot'
import { CartId } from '#shared/carts/cart.ts'
import { CodeText } from '#shared/codes/code-text.ts'
import { Discount } from '#shared/discounts/verify-discount.ts'
import { defineRoute } from '#shared/platform/request/route.ts'

const DiscountRequest = v.pipe(v.strictObject({ code: CodeText }), v.title('DiscountRequest'))

export const route = defineRoute({
  operation: 'discount.verify',
  method: 'POST',
  path: '/discount/verify',
  summary: 'Verify a discount code',
  description:
    'Returns whether a code applies, and its discount in minor units. If a header names a cart, the code is applied to that cart once, even if it is verified repeatedly, and its discount follows the amount of the cart; the settings limit the total discount of a cart. Without a cart, only the code is checked: `applied` says whether it is valid, the amount is 0, and nothing is applied. An unknown, expired or deleted code gets the same response as any other code that does not apply.',
  auth: 'bearer',
  access: 'read',
  idempotency: 'required',
  latency: { p95: 300, p99: 800 },
  headers: (settings) => ({
    [settings['discount.cart'].header]: {
      description:
        'The id of the cart, to which the code is applied. Without it, only the code is checked: `applied` says whether it is valid, and `amount` is 0. A new cart may take 2 s until it is known.',
      key: 'discount.cart',
      example: 'cart-1',
      schema: CartId,
    },
  }),
  body: () => DiscountRequest,
  example: () => ({ code: 'SUMMER-10' }),
  reply: { status: () => 200, schema: () => Discount },
  // A shop's one key verifies for all its customers: only wrong codes are guesses.
  isFailure: (body) => (body as Discount).applied === false,
  errors: [
    'VALIDATION.code.length.exceeds',
    'VALIDATION.code.charset',
    { code: 'CONFLICT.code.not_combinable', stored: true },
    {
      code: 'NOT_FOUND.code',
      stored: true,
      when: (settings) => settings['discount.rejection'].status === 404,
    },
    // A new cart may be on its way, and an id of a cart says nothing about codes.
    { code: 'NOT_FOUND.cart', uncounted: true },
  ],
  uses: ['secret.hashes'],
  table: {
    get: ['cart', 'code', 'code_lock'],
    getMany: ['code'],
    query: ['cart_line'],
    put: ['cart', 'verification'],
  },
  impact: 'No discount can be verified or applied to a cart.',
})
