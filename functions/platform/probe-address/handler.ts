import { probe } from '#shared/health/probe.ts'
import { powertoolsLog } from '#shared/platform/aws/powertools-log.ts'
import { eventFunction } from '#shared/platform/aws/runtime.ts'
import { readSecret } from '#shared/platform/aws/secrets-manager.ts'
import { startBudget } from '#shared/platform/base/clock.ts'

/** Below the timeout of the function, so that a hanging address is logged. */
const budgetMilliseconds = 10_000

/** Runs every minute. Calls the public address, and counts the run if the address answers as it should. */
export const handler = eventFunction({ log: powertoolsLog, secret: readSecret }, async (_, runtime) => {
  const budget = startBudget(runtime.clock, budgetMilliseconds)
  await probe(runtime.environment('PUBLIC_ADDRESS') ?? '', runtime, budget)
})
