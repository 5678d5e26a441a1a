import { sendCode } from '#shared/otp/send-code.ts'
import { deployedTable } from '#shared/platform/aws/dynamodb-table.ts'
import { onceForId } from '#shared/platform/aws/once-for-id.ts'
import { queueFunction } from '#shared/platform/aws/queue-function.ts'
import { readSecret } from '#shared/platform/aws/secrets-manager.ts'
import { sendMail } from '#shared/platform/aws/ses.ts'

let once: ReturnType<typeof onceForId> | undefined

/** Sends the one-time codes that are queued by message id. */
export const handler = queueFunction(
  { queue: 'mail', failure: 'MAIL_NOT_SENT', table: deployedTable, secret: readSecret },
  async (messageId, context) => {
    const configurationSet = context.environment('MAIL_CONFIGURATION_SET')
    once ??= onceForId('mail', context.environment('TABLE_NAME') ?? '')
    const sendOnce = once
    await sendCode(messageId, context, (id, mail) =>
      sendOnce(id, () => sendMail(mail, { configurationSet, messageId: id })),
    )
  },
)
