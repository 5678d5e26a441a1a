import { fail } from '../platform/base/failure.ts'
import type { Settings } from '../settings/register.ts'

/**
 * Returns the provider's account of a tenant's charges, so no tenant can reach another's.
 * @throws POLICY.refund.no_account if the settings define none
 */
export function accountOf(tenant: string, settings: Settings): string {
  const { accounts, prefix } = settings['refunds.account']
  if (Object.hasOwn(accounts, tenant)) return accounts[tenant] as string
  if (prefix === undefined) throw fail('POLICY.refund.no_account')
  return `${prefix}${tenant}`
}
