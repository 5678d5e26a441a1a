import { deployedTable } from '#shared/platform/aws/dynamodb-table.ts'
import { powertoolsLog } from '#shared/platform/aws/powertools-log.ts'
import { eventFunction } from '#shared/platform/aws/runtime.ts'
import { readSecret } from '#shared/platform/aws/secrets-manager.ts'
import { secondsSince } from '#shared/platform/base/clock.ts'
import { finishSagas } from '#shared/platform/request/finish-sagas.ts'
import { endpoint as createRefund } from '../../refunds/create-refund/endpoint.ts'

/** Runs every minute. Finishes interrupted sagas that no caller retried. */
export const handler = eventFunction(
  { log: powertoolsLog, table: deployedTable, secret: readSecret },
  async (_, runtime) => {
    const { log, clock } = runtime
    const { finished, left, fault, oldest } = await finishSagas([createRefund], runtime)
    const code = left > 0 ? 'INTENTS_LEFT' : 'INTENTS_FINISHED'
    if (finished + left > 0) log.job({ code, done: finished, failed: left, fault })
    if (oldest !== undefined) log.unfinished('refunds', secondsSince(oldest, clock))
  },
)
