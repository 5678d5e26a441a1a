import * as v from 'valibot'
import { CodeText } from '#shared/codes/code-text.ts'
import { defineRoute } from '#shared/platform/request/route.ts'
import { openPoint } from '#shared/settings/per-settings.ts'

const Verified = v.strictObject({
  applied: v.boolean(),
  amount: v.pipe(v.number(), v.integer(), v.minValue(0), openPoint('discount.amount')),
})

export const route = defineRoute({
  operation: 'discount.verify',
  method: 'POST',
  path: '/discount/verify',
  summary: 'Verify a discount code',
  description:
    'Tells whether a code applies and what it takes off, in minor units. With a cart named in the header, the code is applied to that cart once, however often it is verified, and all codes of a cart together take off no more than the settings allow. Without a cart, the code alone is checked: nothing is applied and the amount is 0. A code that is unknown, expired or deleted is answered like any other that does not apply.',
  auth: 'bearer',
  access: 'read',
  idempotency: 'required',
  latency: { p95: 300, p99: 800 },
  payloadHeaders: (settings) => [settings['discount.cart'].header],
  body: () => v.strictObject({ code: CodeText }),
  example: () => ({ code: 'SUMMER-10' }),
  reply: { status: () => 200, schema: () => Verified },
  errors: [
    'VALIDATION.code.length.exceeds',
    'VALIDATION.code.charset',
    'CONFLICT.code.not_combinable',
    'NOT_FOUND.cart',
  ],
  uses: ['table.read', 'table.write'],
  impact: 'No discount can be verified or applied to a cart.',
})
