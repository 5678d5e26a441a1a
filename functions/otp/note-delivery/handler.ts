import { handleMailEvent } from '#shared/otp/mail-event.ts'
import { dynamodbClient, dynamodbTable } from '#shared/platform/aws/dynamodb-table.ts'
import { queueFunction } from '#shared/platform/aws/queue-function.ts'
import { startBudget } from '#shared/platform/base/budget.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import { powertoolsLog } from '#shared/platform/base/log.ts'

const budgetMilliseconds = 10_000
const log = powertoolsLog('commerce-api')

/** Records delivered mails and logs bounces, from the events of the mail service. */
export const handler = queueFunction('mail_events', 'MAIL_EVENT_NOT_HANDLED', async (body) => {
  const budget = startBudget(systemClock, budgetMilliseconds)
  const table = dynamodbTable(dynamodbClient(), process.env.TABLE_NAME ?? '', systemClock, budget)
  await handleMailEvent(body, { table, clock: systemClock, log })
})
