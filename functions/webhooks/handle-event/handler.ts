import { systemClock } from '#shared/platform/clock.ts'
import { startBudget } from '#shared/platform/limits/budget.ts'
import { queueConsumer } from '#shared/platform/queue/queue-consumer.ts'
import { deployedSettings } from '#shared/platform/settings/deployed.ts'
import { dynamodbClient } from '#shared/platform/table/dynamodb-client.ts'
import { dynamodbTable } from '#shared/platform/table/dynamodb-table.ts'
import { handleEvent } from '#shared/webhooks/handle-event.ts'

const budgetMilliseconds = 10_000

/** Handles the received events that are queued by id. */
export const handler = queueConsumer('webhooks', 'EVENT_NOT_HANDLED', async (eventId) => {
  const budget = startBudget(systemClock, budgetMilliseconds)
  const table = dynamodbTable(dynamodbClient(), process.env.TABLE_NAME ?? '', systemClock, budget)
  await handleEvent(eventId, { table, clock: systemClock, settings: deployedSettings() })
})
