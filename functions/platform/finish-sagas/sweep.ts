import { secondsSince } from '#shared/platform/base/clock.ts'
import type { Runtime } from '#shared/platform/request/context.ts'
import { finishSagas, runLimitMilliseconds } from '#shared/platform/request/finish-sagas.ts'
import { checkRefunds, type OpenProvider } from '#shared/refunds/check-refunds.ts'
import { endpoint as createRefund } from '../../refunds/create-refund/endpoint.ts'

/**
 * Finishes interrupted sagas that no caller retried, and asks the provider about open refunds. Logs the age of the oldest
 * one of both: only the service can finish the former, and only the provider settles the latter, perhaps after days.
 */
export async function sweep(runtime: Runtime, openProvider: OpenProvider): Promise<void> {
  const { log, clock } = runtime
  const until = clock.now() + runLimitMilliseconds
  const sweeps = [
    {
      ...(await finishSagas([createRefund], runtime)),
      work: 'refunds',
      codes: ['SAGAS_FINISHED', 'SAGAS_PENDING'],
    },
    {
      ...(await checkRefunds(runtime, openProvider, until)),
      work: 'open_refunds',
      codes: ['REFUNDS_CHECKED', 'REFUNDS_LEFT'],
    },
  ] as const
  for (const { finished, left, fault, oldest, work, codes } of sweeps) {
    const code = codes[left > 0 ? 1 : 0]
    if (finished + left > 0) log.job({ code, done: finished, failed: left, fault })
    if (oldest !== undefined) log.unfinished(work, secondsSince(oldest, clock))
  }
}
