import { endAbandoned } from '#shared/operations/end-abandoned.ts'
import { deployedTable } from '#shared/platform/aws/dynamodb-table.ts'
import { powertoolsLog } from '#shared/platform/aws/powertools-log.ts'
import { eventFunction } from '#shared/platform/aws/runtime.ts'
import { stepFunctions } from '#shared/platform/aws/step-functions.ts'
import { secondsSince, startBudget } from '#shared/platform/base/clock.ts'

const budgetMilliseconds = 25_000

/** Runs every minute. Ends operations whose workflow stopped, and starts workflows that were never started. */
export const handler = eventFunction({ log: powertoolsLog, table: deployedTable }, async (_, runtime) => {
  const { clock, log, environment } = runtime
  const table = runtime.openTable(startBudget(clock, budgetMilliseconds))
  const workflow = stepFunctions(environment('IMPORT_MACHINE_ARN') ?? '')
  const { started, ended, left, oldest } = await endAbandoned(workflow, { table, clock })
  const code = left > 0 ? 'OPERATIONS_LEFT' : 'OPERATIONS_ENDED'
  if (started + ended + left > 0) log.job({ code, done: started + ended, failed: left })
  if (oldest !== undefined) log.pending('imports', secondsSince(oldest, clock))
})
