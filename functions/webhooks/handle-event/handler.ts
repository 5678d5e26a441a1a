import { deployedTable } from '#shared/platform/aws/dynamodb-table.ts'
import { queueFunction } from '#shared/platform/aws/queue-function.ts'
import { readSecret } from '#shared/platform/aws/secrets-manager.ts'
import { blockCheck } from '#shared/platform/identity/blocked-tenants.ts'
import { handleEvent } from '#shared/webhooks/handle-event.ts'

/** Handles the received events that are queued. */
export const handler = queueFunction(
  {
    queue: 'webhooks',
    failure: 'EVENT_NOT_HANDLED',
    table: deployedTable,
    blockCheck,
    secret: readSecret,
  },
  handleEvent,
)
