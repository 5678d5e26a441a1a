import { deployedSettings } from '#shared/platform/aws/deployed-settings.ts'
import { dynamodbClient, dynamodbTable } from '#shared/platform/aws/dynamodb-table.ts'
import { queueFunction } from '#shared/platform/aws/queue-function.ts'
import { startBudget } from '#shared/platform/base/budget.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import { handleEvent } from '#shared/webhooks/handle-event.ts'

const budgetMilliseconds = 10_000

/** Handles the received events that are queued by id. */
export const handler = queueFunction('webhooks', 'EVENT_NOT_HANDLED', async (eventId) => {
  const budget = startBudget(systemClock, budgetMilliseconds)
  const table = dynamodbTable(dynamodbClient(), process.env.TABLE_NAME ?? '', systemClock, budget)
  await handleEvent(eventId, { table, clock: systemClock, settings: deployedSettings() })
})
