import { cognitoProvider } from '#shared/login/cognito-provider.ts'
import { sealing, sendReset } from '#shared/login/password-reset.ts'
import { systemClock } from '#shared/platform/clock.ts'
import { startBudget } from '#shared/platform/limits/budget.ts'
import { queueConsumer } from '#shared/platform/queue/queue-consumer.ts'
import { deploymentSecret } from '#shared/platform/secrets/deployment-secret.ts'
import { deriveKey } from '#shared/platform/secrets/derived-key.ts'
import { deployedSettings } from '#shared/platform/settings/deployed.ts'
import { dynamodbClient } from '#shared/platform/table/dynamodb-client.ts'
import { dynamodbTable } from '#shared/platform/table/dynamodb-table.ts'

const budgetMilliseconds = 10_000

/** Sends the password reset mails that are queued by request id. */
export const handler = queueConsumer('password_resets', 'RESET_NOT_SENT', async (id) => {
  const budget = startBudget(systemClock, budgetMilliseconds)
  const settings = deployedSettings()
  const { TABLE_NAME = '', USER_POOL_CLIENT_ID = '', SECRET_ARN = '' } = process.env
  await sendReset(id, {
    table: dynamodbTable(dynamodbClient(), TABLE_NAME, systemClock, budget),
    budget,
    settings,
    provider: cognitoProvider({ userPoolId: '', clientId: USER_POOL_CLIENT_ID }, settings),
    key: deriveKey(await deploymentSecret(SECRET_ARN, { settings, clock: systemClock, budget }), sealing),
    now: systemClock.now(),
  })
})
