import { permissions } from '#shared/platform/identity/authorize.ts'
import { isForTenants, type Route, sumsDenials } from '#shared/platform/request/route.ts'
import { searchLimitTable } from '#shared/platform/request/search-limit.ts'
import type { PartitionKind } from '#shared/platform/table/keys.ts'
import type { TableCall, TableUse } from '#shared/platform/table/table.ts'
import type { Settings } from '#shared/settings/register.ts'

/** Returns the union of what several functions or routes do with the table. */
export function joined(all: readonly TableUse[]): TableUse {
  const calls = all.flatMap((use) => Object.entries(use) as [TableCall, readonly PartitionKind[]][])
  const byCall = Map.groupBy(calls, ([call]) => call)
  return Object.fromEntries(
    Array.from(byCall, ([call, uses]) => [call, [...new Set(uses.flatMap(([, kinds]) => kinds))]]),
  )
}

/**
 * Returns what requests of a route do with the table: its own, and what the platform does to authenticate a caller, to
 * reject a blocked tenant, to record a denial or a key, and to count.
 */
export function tableUseOf(route: Route, settings: Settings): TableUse {
  const { table = {}, auth, idempotency, throttle, operation, listing } = route
  const limits = settings['limits.other'][operation] ?? []
  const isCounted = throttle !== undefined || listing !== undefined || limits.length > 0
  return joined([
    table,
    ...(isForTenants(route) ? [{ get: ['blocked-tenants'] } as const] : []),
    ...(auth === 'bearer' ? [{ get: ['api_key'], put: ['audit'] } as const] : []),
    ...(isForSessions(route) ? [{ get: ['session'] } as const] : []),
    ...(sumsDenials(route) ? [{ put: ['rate'], update: ['rate', 'audit'] } as const] : []),
    ...(idempotency === 'none' ? [] : [{ get: ['idempotency'], put: ['idempotency'] } as const]),
    ...(isCounted ? [searchLimitTable] : []),
  ])
}

/**
 * Returns whether the setting auth.sessionOperations may name it: a session is a Viewer. The role of a function also serves earlier
 * releases, which may have named other operations.
 */
function isForSessions({ auth, access }: Route): boolean {
  return auth === 'bearer' && (access === undefined || permissions[access].Viewer !== 'deny')
}
