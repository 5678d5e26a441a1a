import type { Clock } from '../platform/base/clock.ts'
import type { Item } from '../platform/table/keys.ts'
import type { Table, Write } from '../platform/table/table.ts'

/** The tenants that have subscribers. One item, so that a relay learns all of them with one read. */
interface SubscribedTenants {
  /** Null or absent if the list is not known: then any tenant may have some. */
  tenants?: readonly string[] | null
  /** The number of changes; absent before the first. */
  version?: number
}

export const subscribedTenantsKey = { pk: 'subscribed-tenants', sk: 'subscribed-tenants' }

/** A relay reads the list at most so often, so hardly any event pays for it. */
const maxAgeMilliseconds = 5000
/** After so long, every relay knows of a new subscriber: none uses an older list. A second covers clocks that are corrected. */
export const subscribedMilliseconds = maxAgeMilliseconds + 1000

/** With more tenants, the list would cost more to read than it saves. Their names fit one item. */
const maxTenants = 2000

/** Returns whether a tenant may have subscribers. */
export type SubscriberCheck = (tenant: string) => boolean

/**
 * Returns the reader of a process. It reads the list at most once in some seconds. If the list cannot be read, or is not known,
 * any tenant may have subscribers.
 */
export function subscriberCheck(
  clock: Pick<Clock, 'now'>,
): (table: Pick<Table, 'get'>) => Promise<SubscriberCheck> {
  let known: { at: number; check: SubscriberCheck } | undefined
  return async (table) => {
    const at = clock.now()
    // After a clock has gone back, a list from later would be kept too long.
    if (known && at >= known.at && at - known.at < maxAgeMilliseconds) return known.check
    try {
      const { tenants } = await readSubscribedTenants(table)
      const names = tenants && new Set(tenants)
      known = { at, check: (tenant) => names?.has(tenant) ?? true }
      return known.check
    } catch {
      return () => true
    }
  }
}

export async function readSubscribedTenants(table: Pick<Table, 'get'>): Promise<SubscribedTenants> {
  return ((await table.get(subscribedTenantsKey)) ?? {}) as Item & SubscribedTenants
}

/** The write of a new subscriber: the list is not known, until the sweep has made it from all subscribers again. */
export const forgetSubscribedTenants: Write = {
  update: subscribedTenantsKey,
  set: { tenants: null },
  increment: ['version'],
  condition: 'none',
  onFailure: 'INTERNAL.unexpected',
}

/**
 * Stores the list if it differs from the stored one. A subscriber that was registered since that was read has changed its
 * version, so it is not left out.
 * @param stored the list that was read before the subscribers
 * @param tenants those of all subscribers
 */
export async function keepSubscribedTenants(
  stored: SubscribedTenants,
  tenants: readonly string[],
  { table }: { table: Pick<Table, 'put'> },
): Promise<void> {
  const sorted = [...new Set(tenants)].sort()
  const names = sorted.length <= maxTenants ? sorted : null
  const { version } = stored
  if (version !== undefined && JSON.stringify(names) === JSON.stringify(stored.tenants)) return
  await table.put({
    item: { ...subscribedTenantsKey, tenants: names, version: (version ?? 0) + 1 },
    condition: version === undefined ? { absent: true } : { matches: { version } },
  })
}
