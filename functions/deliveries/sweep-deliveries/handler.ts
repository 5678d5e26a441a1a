import { logSweep, sweepDeliveries } from '#shared/deliveries/sweep-deliveries.ts'
import { deployedTable } from '#shared/platform/aws/dynamodb-table.ts'
import { powertoolsLog } from '#shared/platform/aws/powertools-log.ts'
import { eventFunction } from '#shared/platform/aws/runtime.ts'
import { sendAll } from '#shared/platform/aws/sqs.ts'
import { startBudget } from '#shared/platform/base/clock.ts'
import { queueUrlVariable } from '#shared/platform/events/outbox.ts'
import { blockCheck } from '#shared/platform/identity/blocked-tenants.ts'

const budgetMilliseconds = 25_000

/** Runs every minute. Queues the deliveries that waited in the table and are due. */
export const handler = eventFunction(
  { log: powertoolsLog, table: deployedTable, blockCheck },
  async (_, runtime) => {
    const { clock, log, settings, isBlocked, environment } = runtime
    const table = runtime.openTable(startBudget(clock, budgetMilliseconds))
    const queueUrl = environment(queueUrlVariable('deliveries')) ?? ''
    const swept = await sweepDeliveries({ table, clock, settings, isBlocked }, (messages) =>
      sendAll(queueUrl, messages),
    )
    logSweep(swept, { log, clock })
  },
)
