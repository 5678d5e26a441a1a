import { defineRoute } from '#shared/platform/request/route.ts'
import { NewRefund, RefundView } from '#shared/refunds/refund.ts'

export const route = defineRoute({
  operation: 'refunds.create',
  action: 'refund',
  method: 'POST',
  path: '/v1/refunds',
  summary: 'Refund a charge',
  description:
    'Refunds a charge, or a part of it. Requests with the same Idempotency-Key create one refund, one payout and one ledger entry, even after failures. If the provider rejects the refund, every retry returns the same error. While the provider is unavailable, the refund stays pending, and a retry continues it.',
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
