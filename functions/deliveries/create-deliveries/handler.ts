import { createDeliveries } from '#shared/deliveries/create-deliveries.ts'
import { deployedTable } from '#shared/platform/aws/dynamodb-table.ts'
import { batchFunction } from '#shared/platform/aws/queue-function.ts'
import { sendAll } from '#shared/platform/aws/sqs.ts'
import { queueUrlVariable } from '#shared/platform/events/outbox.ts'
import { blockCheck } from '#shared/platform/identity/blocked-tenants.ts'

/** Queues the deliveries of published events to the subscribers that asked for them. */
export const handler = batchFunction(
  { queue: 'published_events', failure: 'EVENT_NOT_FANNED_OUT', table: deployedTable, blockCheck },
  (bodies, context) => {
    const queueUrl = context.environment(queueUrlVariable('deliveries')) ?? ''
    return createDeliveries(bodies, context, (deliveries) => sendAll(queueUrl, deliveries))
  },
)
