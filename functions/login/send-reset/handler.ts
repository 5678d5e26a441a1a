import { deployedIdentityProvider } from '#shared/login/cognito-provider.ts'
import { sendReset } from '#shared/login/password-reset.ts'
import { deployedTable } from '#shared/platform/aws/dynamodb-table.ts'
import { queueFunction } from '#shared/platform/aws/queue-function.ts'
import { readSecret } from '#shared/platform/aws/secrets-manager.ts'

/** Sends the password reset mails that are queued by request id. */
export const handler = queueFunction(
  { queue: 'password_resets', failure: 'RESET_NOT_SENT', table: deployedTable, secret: readSecret },
  (id, context) => sendReset(id, deployedIdentityProvider(context), context),
)
