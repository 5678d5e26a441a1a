import { fail } from '../platform/base/failure.ts'
import { defineEvent } from '../platform/events/event-definition.ts'
import { settle } from '../refunds/refund.ts'
import { paidRefund } from '../refunds/refund-saga.ts'
import { asRefund } from '../refunds/refund-store.ts'
import { resourceOnly, type Handler } from './handler.ts'

export const RefundSucceeded = defineEvent({
  type: 'refund.succeeded',
  version: 1,
  summary: 'The payment provider completed a refund; data.id is the refund.',
  data: resourceOnly,
})

/** Settles a refund that the provider had accepted. A settled refund stays unchanged, with its one ledger entry. */
export const refundSucceeded: Handler = async ({ data }, { table, now }) => {
  const key = await table.findById('refund', data.id)
  const item = key && (await table.get(key))
  if (!item) throw fail('NOT_FOUND.refund')
  const refund = asRefund(item)
  if (refund.status !== 'pending' || refund.tenant_id !== (data.tenant_id ?? refund.tenant_id)) return {}
  return paidRefund(refund, settle(refund, { status: 'succeeded' }, now))
}
