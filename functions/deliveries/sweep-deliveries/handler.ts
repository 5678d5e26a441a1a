import { deployedTable } from '#shared/platform/aws/dynamodb-table.ts'
import { powertoolsLog } from '#shared/platform/aws/powertools-log.ts'
import { eventFunction } from '#shared/platform/aws/runtime.ts'
import { sendAll } from '#shared/platform/aws/sqs.ts'
import { secondsSince, startBudget } from '#shared/platform/base/clock.ts'
import { queueUrlVariable } from '#shared/platform/events/outbox.ts'
import { blockCheck } from '#shared/platform/identity/blocked-tenants.ts'
import { sweepDeliveries } from '#shared/subscribers/sweep-deliveries.ts'

const budgetMilliseconds = 25_000

/** Runs every minute. Queues the deliveries that waited in the table and are due. */
export const handler = eventFunction(
  { log: powertoolsLog, table: deployedTable, blockCheck },
  async (_, runtime) => {
    const { clock, log, settings, isBlocked, environment } = runtime
    const table = runtime.openTable(startBudget(clock, budgetMilliseconds))
    const queueUrl = environment(queueUrlVariable('deliveries')) ?? ''
    const { queued, left, oldest } = await sweepDeliveries(
      { table, clock, settings, isBlocked },
      (messages) => sendAll(queueUrl, messages),
    )
    const code = left > 0 ? 'DELIVERIES_LEFT' : 'DELIVERIES_PUT_BACK'
    if (queued + left > 0) log.job({ code, done: queued, failed: left })
    if (oldest !== undefined) log.unfinished('deliveries', secondsSince(oldest, clock))
  },
)
