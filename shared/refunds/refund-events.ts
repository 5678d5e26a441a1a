import type { OutgoingEvent } from '../platform/events/event-definition.ts'
import { defineEvent, event, subjectOnly } from '../platform/events/event-definition.ts'
import type { Refund } from './refund.ts'

export const RefundSucceeded = defineEvent({
  type: 'refund.succeeded',
  version: 1,
  summary: 'The payment provider paid a refund.',
  data: subjectOnly,
})

/** Returns the event of a refund that the provider completed. */
export function refundSucceeded({ id, tenant_id }: Refund): OutgoingEvent[] {
  return [event(RefundSucceeded, { id, tenant_id })]
}
