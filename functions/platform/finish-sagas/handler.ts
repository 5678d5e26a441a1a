import { deployedTable } from '#shared/platform/aws/dynamodb-table.ts'
import { powertoolsLog } from '#shared/platform/aws/powertools-log.ts'
import { eventFunction } from '#shared/platform/aws/runtime.ts'
import { readSecret } from '#shared/platform/aws/secrets-manager.ts'
import { deployedPaymentProvider } from '#shared/refunds/stripe-provider.ts'
import { sweep } from './sweep.ts'

/** Runs every minute. */
export const handler = eventFunction(
  { log: powertoolsLog, table: deployedTable, secret: readSecret },
  async (_, runtime) => sweep(runtime, deployedPaymentProvider),
)
