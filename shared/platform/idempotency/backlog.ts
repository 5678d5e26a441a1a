import type { Clock } from '../base/clock.ts'
import { fail } from '../base/failure.ts'
import type { Table } from '../table/table.ts'

/**
 * The pending sagas of a tenant from which it starts no further ones. The sweep counts them each minute, so a tenant can
 * have as many more as it starts in two minutes. A run of the sweep tries several hundred.
 */
export const maxPendingSagas = 1000
/** So many names of 64 characters fit into the item. */
const maxTenants = 5000
/** How long a process uses the list that it has read, in milliseconds. */
const maxAgeMilliseconds = 30_000
/** The sweep runs each minute. */
const retryAfterSeconds = 60

export const backloggedTenantsKey = { pk: 'backlogged-tenants', sk: 'backlogged-tenants' }

/** The list that each process knows, by its clock. */
const known = new WeakMap<Clock, { tenants: ReadonlySet<string>; at: number }>()

/**
 * Checks that a tenant may start another saga. A process reads the list at most once in 30 seconds, so hardly any request
 * pays for it. It never refuses a request of a known key, because a rejection is replaced by what its record
 * says.
 * @throws RATE_LIMIT.exceeded
 */
export async function checkBacklog(
  tenant: string,
  { table, clock }: { table: Pick<Table, 'get'>; clock: Clock },
): Promise<void> {
  const at = clock.now()
  let list = known.get(clock)
  if (!list || at - list.at >= maxAgeMilliseconds) {
    list = { tenants: new Set(await readTenants(table)), at }
    known.set(clock, list)
  }
  if (list.tenants.has(tenant)) throw fail('RATE_LIMIT.exceeded', { retryAfterSeconds })
}

/** Stores which tenants may start no further saga. @param counts the pending sagas of each tenant */
export async function recordBacklogs(counts: ReadonlyMap<string, number>, table: Table): Promise<void> {
  const full = [...counts].filter(([, count]) => count >= maxPendingSagas)
  const largest = full.toSorted(([, one], [, other]) => other - one).slice(0, maxTenants)
  const tenants = largest.map(([tenant]) => tenant).sort()
  const before = await readTenants(table)
  const isSame = tenants.length === before.length && tenants.every((tenant, at) => tenant === before[at])
  if (!isSame) await table.put({ item: { ...backloggedTenantsKey, tenants }, condition: 'none' })
}

async function readTenants(table: Pick<Table, 'get'>): Promise<readonly string[]> {
  return ((await table.get(backloggedTenantsKey))?.tenants ?? []) as readonly string[]
}
