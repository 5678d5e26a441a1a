import { cognitoProvider } from '#shared/login/cognito-provider.ts'
import { sealing, sendReset } from '#shared/login/password-reset.ts'
import { deployedSettings } from '#shared/platform/aws/deployed-settings.ts'
import { dynamodbClient, dynamodbTable } from '#shared/platform/aws/dynamodb-table.ts'
import { queueFunction } from '#shared/platform/aws/queue-function.ts'
import { deploymentSecret } from '#shared/platform/aws/secrets-manager.ts'
import { startBudget } from '#shared/platform/base/budget.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import { deriveKey } from '#shared/platform/base/secrets.ts'

const budgetMilliseconds = 10_000

/** Sends the password reset mails that are queued by request id. */
export const handler = queueFunction('password_resets', 'RESET_NOT_SENT', async (id) => {
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
