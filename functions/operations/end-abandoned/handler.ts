import { endAbandoned } from '#shared/operations/end-abandoned.ts'
import { dynamodbClient, dynamodbTable } from '#shared/platform/aws/dynamodb-table.ts'
import { stepFunctions } from '#shared/platform/aws/step-functions.ts'
import { startBudget } from '#shared/platform/base/budget.ts'
import { secondsSince, systemClock } from '#shared/platform/base/clock.ts'
import { powertoolsLog } from '#shared/platform/base/log.ts'

const budgetMilliseconds = 25_000
const log = powertoolsLog('commerce-api')

/** Runs every minute. Ends operations whose workflow stopped, and starts workflows that were never started. */
export async function handler(): Promise<void> {
  const budget = startBudget(systemClock, budgetMilliseconds)
  const table = dynamodbTable(dynamodbClient(), process.env.TABLE_NAME ?? '', systemClock, budget)
  const workflow = stepFunctions(process.env.IMPORT_MACHINE_ARN ?? '')
  const { started, ended, left, oldest } = await endAbandoned(workflow, { table, clock: systemClock })
  const code = left > 0 ? 'OPERATIONS_LEFT' : 'OPERATIONS_ENDED'
  if (started + ended + left > 0) log.job({ code, done: started + ended, failed: left })
  if (oldest !== undefined) log.unfinished('imports', secondsSince(oldest, systemClock))
}
