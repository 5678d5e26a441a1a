import { blockedTenantsPut, readBlockedTenants } from '#shared/platform/identity/caller.ts'
import { auditOfOperator, type Operator } from '../tenant-records.ts'

/** @returns whether it was not blocked before */
export function blockTenant(operator: Operator, tenant: string): Promise<boolean> {
  return change(operator, tenant, 'tenant.block')
}

/** @returns whether it was blocked before */
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
    const audit = auditOfOperator(operator, tenant, { action, target: 'tenant' })
    // Another operator may have changed the list meanwhile.
    if (!(await table.transact([blockedTenantsPut(tenants, blocked), audit]))) return true
  }
}
