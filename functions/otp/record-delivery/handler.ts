import { handleMailEvent } from '#shared/otp/mail-event.ts'
import { deployedTable } from '#shared/platform/aws/dynamodb-table.ts'
import { queueFunction } from '#shared/platform/aws/queue-function.ts'

/** Records delivered mails and logs bounces, from the events of the mail service. */
export const handler = queueFunction(
  { queue: 'mail_events', failure: 'MAIL_EVENT_NOT_HANDLED', table: deployedTable },
  handleMailEvent,
)
