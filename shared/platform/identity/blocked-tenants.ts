import { processMemory } from '../base/cached-load.ts'
import type { Item } from '../table/keys.ts'
import type { Put, Table } from '../table/table.ts'

/**
 * The time after which a block is complete, in milliseconds: no process uses an older list, and the requests that began
 * under one have ended. The setting requests.timeoutHeader limits a request to 26 seconds.
 */
export const blockMilliseconds = 60_000

/** Returns whether the callers of a tenant are rejected. */
export type BlockCheck = (tenant: string, table: Pick<Table, 'get'>) => Promise<boolean>

/** The blocked tenants of the deployment. One item, so that a process learns all of them with one read. */
interface BlockedTenants {
  tenants: readonly string[]
  /** The number of changes; 0 before the first. */
  version: number
}

export const blockedTenantsKey = { pk: 'blocked-tenants', sk: 'blocked-tenants' }

/** Returns the check of a process. It reads the list at most once in 30 seconds, so hardly any request pays for it. */
export function blockCheck(clock: { now(): number }): BlockCheck {
  const remember = processMemory(clock)
  return async (tenant, table) => {
    const blocked = await remember('blocked', async () => new Set((await readBlockedTenants(table)).tenants))
    return blocked.has(tenant)
  }
}

export async function readBlockedTenants(table: Pick<Table, 'get'>): Promise<BlockedTenants> {
  const { tenants, version } = ((await table.get(blockedTenantsKey)) ?? { tenants: [], version: 0 }) as Item &
    BlockedTenants
  return { tenants, version }
}

/** Returns the write of a changed list. Rejected if the list was changed since it was read. */
export function blockedTenantsPut(tenants: readonly string[], { version }: BlockedTenants): Put {
  return {
    item: { ...blockedTenantsKey, tenants, version: version + 1 },
    condition: version === 0 ? { absent: true } : { matches: { version } },
  }
}
