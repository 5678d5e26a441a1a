import { deployedRuntime } from '#shared/platform/aws/runtime.ts'
import { readSecret } from '#shared/platform/aws/secrets-manager.ts'
import { secondsSince } from '#shared/platform/base/clock.ts'
import { finishIntents } from '#shared/platform/request/finish-intents.ts'
import type { Runtime } from '#shared/platform/request/passage.ts'
import { endpoint as createRefund } from '../../refunds/create-refund/endpoint.ts'

let runtime: Runtime | undefined

/** Runs every minute. Finishes interrupted intents that no caller retried. */
export async function handler(): Promise<void> {
  runtime ??= deployedRuntime({ secret: readSecret })
  const { finished, left, fault, oldest } = await finishIntents([createRefund], runtime)
  const code = left > 0 ? 'INTENTS_LEFT' : 'INTENTS_FINISHED'
  if (finished + left > 0) runtime.log.job({ code, done: finished, failed: left, fault })
  if (oldest !== undefined) runtime.log.unfinished('refunds', secondsSince(oldest, runtime.clock))
}
