import { functionOf, routes } from '#functions/routes.ts'
import { steps } from '#functions/steps.ts'
import { type Subscription, subscriptions } from '#functions/subscriptions.ts'

/** What a freeze stops: all changes of the table, or reads as well. */
export type Freeze = 'writes' | 'all'

export const freezes: readonly Freeze[] = ['writes', 'all']

const names = (all: readonly { name: string }[]) => all.map(({ name }) => name)

/** Lambda holds an event of a schedule, and would still start a run of it after the schedule is disabled. */
const scheduled = subscriptions.filter(({ source }) => source === 'every.minute')

/** Functions that stop at a reserved concurrency of 0. Callers get 503, and the workflow of an import retries. */
const stopped: Readonly<Record<Freeze, ReadonlySet<string>>> = {
  writes: new Set([
    ...names(routes.filter(({ route }) => route.method !== 'GET').map(functionOf)),
    ...names(steps),
    ...names(scheduled),
  ]),
  all: new Set([
    ...names(routes.map(functionOf)),
    ...names(steps),
    ...names(scheduled),
    // Users who log in or renew a login leave audit records.
    ...names(subscriptions.filter(({ source }) => source === 'pool.token')),
  ]),
}

/** Returns the names of the functions that a freeze stops. */
export function stoppedFunctions(freeze: Freeze): ReadonlySet<string> {
  return stopped[freeze]
}

/**
 * The consumers whose queue or schedule any freeze disables: their messages wait, where a function without concurrency
 * would use up their attempts.
 */
export const pausedConsumers: readonly Subscription[] = subscriptions.filter(
  ({ source }) => source === 'every.minute' || (typeof source === 'object' && 'queue' in source),
)

/** The consumers of the table's stream. They run on, so that every committed change is published. */
export const streamConsumers: readonly Subscription[] = subscriptions.filter(
  ({ source }) => typeof source === 'object' && 'stream' in source,
)
