import { secondsSince } from '#shared/platform/base/clock.ts'
import type { Runtime } from '#shared/platform/request/context.ts'
import { finishSagas, runLimitMilliseconds } from '#shared/platform/request/finish-sagas.ts'
import { checkRefunds, type OpenProvider } from '#shared/refunds/check-refunds.ts'
import { endpoint as createRefund } from '../../refunds/create-refund/endpoint.ts'

/**
 * Finishes interrupted sagas that no caller retried, and at the same time asks the provider about unsettled refunds: a backlog of
 * one kind does not delay the other. Logs the age of the oldest of each kind. Only the service can finish a saga, and only the
 * provider settles an unsettled refund, perhaps after days.
 * @throws the error of the kind that could not be read, after the work on the other has ended
 */
export async function sweep(runtime: Runtime, openProvider: OpenProvider): Promise<void> {
  const { log, clock } = runtime
  const sagas = finishSagas([createRefund], runtime)
  const unsettled = checkRefunds(runtime, openProvider, clock.now() + runLimitMilliseconds)
  await Promise.allSettled([sagas, unsettled])
  const sweeps = [
    { swept: sagas, work: 'refunds', codes: ['SAGAS_FINISHED', 'SAGAS_PENDING'] },
    { swept: unsettled, work: 'unsettled_refunds', codes: ['REFUNDS_CHECKED', 'REFUNDS_LEFT'] },
  ] as const
  for (const { swept, work, codes } of sweeps) {
    const { finished, left, refused = 0, fault, oldest } = await swept
    const code = codes[left + refused > 0 ? 1 : 0]
    if (finished + left + refused > 0) log.job({ code, done: finished, failed: left, refused, fault })
    if (oldest !== undefined) log.pending(work, secondsSince(oldest, clock))
  }
}
