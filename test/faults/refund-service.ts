import { endpoint as createRefund } from '#functions/refunds/create-refund/endpoint.ts'
import type { Endpoint } from '#shared/platform/request/endpoint.ts'
import { type Finished, finishSagas } from '#shared/platform/request/finish-sagas.ts'
import { declaredRuntime } from '#test/support/declared-table.ts'
import {
  type FakePaymentProvider,
  startPaymentProvider,
} from '#test/support/payment-provider/payment-provider.ts'
import { runsAll } from '#test/support/runs.ts'
import type { Answer } from '#test/support/service.ts'
import { profile } from '#test/support/settings.ts'
import { type FaultyService, startFaultyService } from './faulty-service.ts'
import { movableClock } from './payment-saga.ts'

/** The duration of a lease, after which the sweeper resumes a saga. */
export const leaseMilliseconds = 31_000
export const minAgeMilliseconds = 91_000

interface RefundService extends FaultyService {
  provider: FakePaymentProvider
  /** Calls POST /v1/refunds in a tenant with a key. */
  refund(tenant: string, key?: string, body?: object): Promise<Answer>
  /** Runs the sweeper this many milliseconds later. */
  sweep(laterMilliseconds?: number): Promise<Finished>
  /** Ends all faults. */
  mend(): void
}

/** The sagas that the sweeper can finish. */
export const swept = [createRefund as unknown as Endpoint]

export function settingsAt(endpoint: string, attemptMilliseconds = 300, changes = {}) {
  return profile('shared/settings/profiles/local.json', {
    'refunds.provider': { endpoint, attemptMilliseconds },
    'idempotency.whilePending': { waitSeconds: 0.2, status: 503 },
    ...changes,
  })
}

/**
 * Starts the service with refunds, on a table and with a provider that inject faults. Delays take no time. If the table is
 * in memory, the provider is called without a connection.
 */
export async function startRefundService(attemptMilliseconds?: number): Promise<RefundService> {
  const provider = await startPaymentProvider()
  if (!runsAll) globalThis.fetch = provider.fetch
  const settings = settingsAt(provider.endpoint, attemptMilliseconds)
  const service = await startFaultyService({ clock: movableClock(), settings })
  return {
    ...service,
    provider,
    refund: (tenant, key = 'key', body = { charge_id: 'ch_1', amount: 700 }) =>
      service.call({
        method: 'POST',
        path: '/v1/refunds',
        as: { tenant },
        headers: { 'Idempotency-Key': key },
        body,
      }),
    sweep(laterMilliseconds = 0) {
      service.clock.advance(laterMilliseconds)
      return finishSagas(swept, declaredRuntime('sagas.finish', service.runtime))
    },
    mend() {
      service.faults.reset()
      provider.faults = () => undefined
    },
    async stop() {
      await service.stop()
      await provider.stop()
    },
  }
}
