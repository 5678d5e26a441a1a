import type { Remember } from '../base/cached-load.ts'
import { fail } from '../base/failure.ts'
import type { Table } from '../table/table.ts'

/**
 * The pending sagas of a tenant from which it starts no further ones. The sweep counts them each minute, so a tenant can
 * have as many more as it starts in two minutes. A run of the sweep tries several hundred.
 */
export const maxPendingSagas = 1000
/** So many names of 64 characters fit into the item. */
const maxTenants = 5000
/** The sweep runs each minute. */
const retryAfterSeconds = 60

export const backloggedTenantsKey = { pk: 'backlogged-tenants', sk: 'backlogged-tenants' }

/**
 * Checks that a tenant may start another saga. A process reads the list at most once in 30 seconds, so hardly any request
 * pays for it. It never refuses a request of a known key, because a rejection is replaced by what its record
 * says.
 * @throws RATE_LIMIT.exceeded
 */
export async function refuseBacklogged(
  tenant: string,
  { table, remember }: { table: Pick<Table, 'get'>; remember: Remember },
): Promise<void> {
  const tenants = await remember('backlogged tenants', async () => new Set(await readTenants(table)))
  if (!tenants.has(tenant)) return
  const details = { reason: 'requests_pending', max: maxPendingSagas }
  throw fail('RATE_LIMIT.exceeded', { retryAfterSeconds, details })
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
