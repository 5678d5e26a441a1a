import { blockedTenantsPut, readBlockedTenants } from '#shared/platform/identity/blocked-tenants.ts'
import { auditOfOperator, type Operator } from '../stack/operator-audit.ts'
import { endOfLease } from './purge-lease.ts'
import { requireData } from './tenant-data.ts'

/** So many names of 64 characters fit into the item that lists them. */
export const maxBlockedTenants = 6000

/**
 * Blocks a tenant.
 * @param options.force also blocks a name without data
 * @returns whether it was not blocked before
 * @throws Error for a name without data, unless it is forced; if too many tenants are blocked
 */
export async function blockTenant(
  operator: Operator,
  tenant: string,
  { force = false } = {},
): Promise<boolean> {
  const { tenants } = await readBlockedTenants(operator.table)
  if (!force && !tenants.includes(tenant)) await requireData(operator, tenant)
  return change(operator, tenant, 'tenant.block')
}

/** @returns whether it was blocked before @throws Error while a purge of it runs */
export function unblockTenant(operator: Operator, tenant: string): Promise<boolean> {
  return change(operator, tenant, 'tenant.unblock')
}

/** Changes the list of blocked tenants, and audits the change in the tenant. */
async function change(
  operator: Operator,
  tenant: string,
  action: 'tenant.block' | 'tenant.unblock',
): Promise<boolean> {
  const { table } = operator
  for (;;) {
    const blocked = await readBlockedTenants(table)
    if (blocked.tenants.includes(tenant) === (action === 'tenant.block')) return false
    const others = blocked.tenants.filter((one) => one !== tenant)
    const tenants = action === 'tenant.block' ? [...others, tenant].sort() : others
    if (tenants.length > maxBlockedTenants)
      throw new Error(`${maxBlockedTenants} tenants are blocked, and no more fit: unblock some`)
    const audit = auditOfOperator(operator, tenant, { action, target: 'tenant' })
    const lease = action === 'tenant.unblock' ? [await endOfLease(table, tenant, operator.clock.now())] : []
    // Another operator may have changed the list meanwhile, or started a purge.
    if (!(await table.transact([blockedTenantsPut(tenants, blocked), audit, ...lease]))) return true
  }
}
