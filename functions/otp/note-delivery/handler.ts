import { handleMailEvent } from '#shared/otp/mail-event.ts'
import { systemClock } from '#shared/platform/clock.ts'
import { startBudget } from '#shared/platform/limits/budget.ts'
import { powertoolsLog } from '#shared/platform/logging/log.ts'
import { queueConsumer } from '#shared/platform/queue/queue-consumer.ts'
import { dynamodbClient } from '#shared/platform/table/dynamodb-client.ts'
import { dynamodbTable } from '#shared/platform/table/dynamodb-table.ts'

const budgetMilliseconds = 10_000
const log = powertoolsLog('commerce-api')

/** Records delivered mails and logs bounces, from the events of the mail service. */
export const handler = queueConsumer('mail_events', 'MAIL_EVENT_NOT_HANDLED', async (body) => {
  const budget = startBudget(systemClock, budgetMilliseconds)
  const table = dynamodbTable(dynamodbClient(), process.env.TABLE_NAME ?? '', systemClock, budget)
  await handleMailEvent(body, { table, clock: systemClock, log })
})
