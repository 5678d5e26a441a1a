import { sendCode } from '#shared/otp/send-code.ts'
import { systemClock } from '#shared/platform/clock.ts'
import { onceForId } from '#shared/platform/idempotency/once-for-id.ts'
import { startBudget } from '#shared/platform/limits/budget.ts'
import { sendMail } from '#shared/platform/mail/ses.ts'
import { queueConsumer } from '#shared/platform/queue/queue-consumer.ts'
import { deploymentSecret } from '#shared/platform/secrets/deployment-secret.ts'
import { deriveKey } from '#shared/platform/secrets/derived-key.ts'
import { deployedSettings } from '#shared/platform/settings/deployed.ts'
import { dynamodbClient } from '#shared/platform/table/dynamodb-client.ts'
import { dynamodbTable } from '#shared/platform/table/dynamodb-table.ts'

const budgetMilliseconds = 10_000
let once: ReturnType<typeof onceForId> | undefined

/** Sends the one-time codes that are queued by message id. */
export const handler = queueConsumer('mail', 'MAIL_NOT_SENT', async (messageId) => {
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
