import { sendCode } from '#shared/otp/send-code.ts'
import { deployedSettings } from '#shared/platform/aws/deployed-settings.ts'
import { dynamodbClient, dynamodbTable } from '#shared/platform/aws/dynamodb-table.ts'
import { onceForId } from '#shared/platform/aws/once-for-id.ts'
import { queueFunction } from '#shared/platform/aws/queue-function.ts'
import { deploymentSecret } from '#shared/platform/aws/secrets-manager.ts'
import { sendMail } from '#shared/platform/aws/ses.ts'
import { startBudget } from '#shared/platform/base/budget.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import { deriveKey } from '#shared/platform/base/secrets.ts'

const budgetMilliseconds = 10_000
let once: ReturnType<typeof onceForId> | undefined

/** Sends the one-time codes that are queued by message id. */
export const handler = queueFunction('mail', 'MAIL_NOT_SENT', async (messageId) => {
  const { TABLE_NAME: tableName = '', SECRET_ARN: secretArn = '' } = process.env
  const { MAIL_CONFIGURATION_SET: configurationSet } = process.env
  once ??= onceForId('mail', tableName)
  const sendOnce = once
  const settings = deployedSettings()
  const clock = systemClock
  const budget = startBudget(clock, budgetMilliseconds)
  const reading = { settings, clock, budget }
  await sendCode(messageId, {
    table: dynamodbTable(dynamodbClient(), tableName, clock, budget),
    clock,
    settings,
    derivedKey: async (purpose) => deriveKey(await deploymentSecret(secretArn, reading), purpose),
    send: (id, mail) =>
      sendOnce(id, () => sendMail(mail, configurationSet ? { configurationSet, messageId: id } : undefined)),
  })
})
