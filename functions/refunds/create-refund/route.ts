import { defineRoute } from '#shared/platform/request/route.ts'
import { Refund } from '#shared/refunds/refund.ts'
import { sagaTable } from '#shared/refunds/refund-saga.ts'

export const route = defineRoute({
  operation: 'refunds.create',
  action: 'refund',
  method: 'POST',
  path: '/v1/refunds',
  summary: 'Refund a charge',
  description:
    'Refunds a charge, or a part of it. Requests with the same Idempotency-Key create one refund, one payout and one ledger entry, even after failures. If the provider rejects the refund, every retry returns the same error, which names the refund in details.refund_id. While the provider is unavailable, the refund stays pending, and a retry continues it. Until the deployment has a key of the provider, refunds get 503 with details.dependency `payments`, and nothing is stored. Location is the path of the refund, where a later outcome can be read.',
  auth: 'bearer',
  access: 'create',
  idempotency: 'required',
  latency: { p95: 400, p99: 2000 },
  errorBudgetPercent: 0.05,
  body: Refund.request,
  example: () => ({ charge_id: 'ch_1', amount: 500 }),
  reply: { status: () => 201, schema: Refund.view, location: true },
  errors: [
    { code: 'NOT_FOUND.charge', stored: true },
    { code: 'POLICY.refund.exceeds_charge', stored: true },
    { code: 'POLICY.refund.declined', stored: true },
    'POLICY.refund.repeated',
    'POLICY.refund.no_account',
    'RATE_LIMIT.exceeded',
  ],
  uses: ['secret.payments'],
  table: {
    ...sagaTable,
    get: [...sagaTable.get, 'account', 'backlogged-tenants'],
    put: [...sagaTable.put, 'pending-saga'],
    delete: [...sagaTable.delete, 'pending-saga'],
  },
  impact: 'No charge can be refunded.',
})
