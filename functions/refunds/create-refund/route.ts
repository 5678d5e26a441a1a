import { defineRoute } from '#shared/platform/request/route.ts'
import { NewRefund, RefundView } from '#shared/refunds/refund.ts'

export const route = defineRoute({
  operation: 'refunds.create',
  action: 'refund',
  method: 'POST',
  path: '/v1/refunds',
  summary: 'Refund a charge',
  description:
    'Pays back a charge, or a part of it. However often it is sent with one key, and whatever fails in between, there is one refund, one payout and one ledger entry. What the provider refuses for good is answered alike each time; while the provider cannot be reached, the refund stays pending, and the same request goes on with it.',
  auth: 'bearer',
  access: 'create',
  idempotency: 'required',
  latency: { p95: 400, p99: 2000 },
  errorBudgetPercent: 0.05,
  body: () => NewRefund,
  example: () => ({ charge_id: 'ch_1', amount: 500 }),
  reply: { status: () => 201, schema: RefundView },
  errors: [
    'NOT_FOUND.charge',
    'POLICY.refund.exceeds_charge',
    'POLICY.refund.declined',
    'POLICY.refund.repeated',
    'POLICY.refund.no_account',
  ],
  uses: ['table.read', 'table.write', 'table.delete', 'secret.payments'],
  impact: 'No charge can be refunded.',
})
