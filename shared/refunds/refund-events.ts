import type { OutgoingEvent } from '../platform/events/outbox.ts'
import type { Refund } from './refund.ts'

/** What the world is told of a refund that the provider completed (contract, 'Events named'). */
export function refundSucceeded({ id, tenant_id }: Refund): OutgoingEvent[] {
  return [{ type: 'refund.succeeded', version: 1, data: { id, tenant_id } }]
}
