import { deployedTable } from '#shared/platform/aws/dynamodb-table.ts'
import { powertoolsLog } from '#shared/platform/aws/powertools-log.ts'
import { eventFunction } from '#shared/platform/aws/runtime.ts'
import { readSecret } from '#shared/platform/aws/secrets-manager.ts'
import { secondsSince } from '#shared/platform/base/clock.ts'
import { finishSagas, runLimitMilliseconds } from '#shared/platform/request/finish-sagas.ts'
import { checkRefunds } from '#shared/refunds/check-refunds.ts'
import { deployedProvider } from '#shared/refunds/stripe-provider.ts'
import { endpoint as createRefund } from '../../refunds/create-refund/endpoint.ts'

/** Runs every minute. Finishes interrupted sagas that no caller retried, and asks the provider about open refunds. */
export const handler = eventFunction(
  { log: powertoolsLog, table: deployedTable, secret: readSecret },
  async (_, runtime) => {
    const { log, clock } = runtime
    const until = clock.now() + runLimitMilliseconds
    const sweeps = [
      { ...(await finishSagas([createRefund], runtime)), codes: ['SAGAS_FINISHED', 'SAGAS_PENDING'] },
      {
        ...(await checkRefunds(runtime, deployedProvider, until)),
        codes: ['REFUNDS_CHECKED', 'REFUNDS_LEFT'],
      },
    ] as const
    for (const { finished, left, fault, codes } of sweeps) {
      const code = codes[left > 0 ? 1 : 0]
      if (finished + left > 0) log.job({ code, done: finished, failed: left, fault })
    }
    const starts = sweeps.flatMap(({ oldest }) => oldest ?? [])
    if (starts.length > 0) log.unfinished('refunds', secondsSince(Math.min(...starts), clock))
  },
)
