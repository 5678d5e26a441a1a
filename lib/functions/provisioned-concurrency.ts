import { functionOf, routes } from '#functions/routes.ts'
import type { Settings } from '#shared/settings/register.ts'
import { type Concurrency, reservedConcurrency, type Stage } from '../stage.ts'

/**
 * Returns the executions that the setting keeps ready, by the name of the function. A function of several operations
 * gets those of all of them.
 */
export function provisionedExecutions(settings: Settings): Concurrency {
  const executions: Record<string, number> = {}
  for (const entry of routes) {
    const { [entry.route.operation]: count } = settings['limits.provisionedConcurrency']
    const { name } = functionOf(entry)
    if (count !== undefined) executions[name] = (executions[name] ?? 0) + count
  }
  return executions
}

/** Returns the executions of a quota that other functions cannot use: reserved, and provisioned without a reservation. */
export function takenExecutions(stage: Stage, settings: Settings) {
  const concurrency = reservedConcurrency(stage, settings) ?? {}
  const provisioned = Object.entries(provisionedExecutions(settings))
  const sum = (counts: readonly number[]) => counts.reduce((total, one) => total + one, 0)
  return {
    reserved: sum(Object.values(concurrency)),
    // A function with a reservation takes its provisioned executions from that.
    provisioned: sum(provisioned.flatMap(([name, count]) => (name in concurrency ? [] : [count]))),
  }
}
