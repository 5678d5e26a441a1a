import { type Clock, newId } from '#shared/platform/base/clock.ts'
import { blockMilliseconds } from '#shared/platform/identity/blocked-tenants.ts'
import type { Item, Key } from '#shared/platform/table/keys.ts'
import type { Change, Put, Remove, Table, Update } from '#shared/platform/table/table.ts'

/** How long a purge waits for imports and refunds to end, in milliseconds. */
export const maxPurgeWaitMilliseconds = 300_000
/** How long a lease lasts after its last renewal, in milliseconds: longer than the waits of a purge. */
const leaseMilliseconds = blockMilliseconds + maxPurgeWaitMilliseconds + 60_000

/** Keeps a tenant blocked while one run of a purge works. A run that was interrupted leaves it until it ends by itself. */
export interface PurgeLease {
  take: Put
  renew(): Update
  /** Rejected if another run has taken the lease. */
  removal: Remove
}

/** The error of a run that stopped for so long that the tenant was unblocked, or another run was started. */
export class LeaseLost extends Error {
  constructor() {
    super(
      'the purge was stopped for minutes: meanwhile the tenant was unblocked, or another purge of it was started',
    )
  }
}

export function purgeLease(tenant: string, clock: Clock): PurgeLease {
  const run = newId(clock)
  const until = () => clock.now() + leaseMilliseconds
  const condition = { matches: { run } }
  return {
    take: { item: { ...leaseKey(tenant), run, until: until() }, condition: 'none' },
    renew: () => ({ update: leaseKey(tenant), set: { until: until() }, condition }),
    removal: { remove: leaseKey(tenant), condition },
  }
}

/**
 * Returns the change by which an unblock ends the lease of an interrupted purge. It is rejected if a purge starts or goes
 * on meanwhile.
 * @throws Error while a purge runs
 */
export async function endOfLease(table: Table, tenant: string, now: number): Promise<Change> {
  const key = leaseKey(tenant)
  const lease = await table.get(key)
  if (!lease) return { check: key, condition: { absent: true } }
  const { run, until } = lease as Item & { run: string; until: number }
  if (until > now)
    throw new Error(
      `a purge of ${tenant} is running: unblock the tenant after it. If it was interrupted, repeat it, or unblock the tenant in ${Math.ceil((until - now) / 60_000)} minutes`,
    )
  return { remove: key, condition: { matches: { run, until } } }
}

function leaseKey(tenant: string): Key {
  return { pk: `purge#${tenant}`, sk: 'lease' }
}
