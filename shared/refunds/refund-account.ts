import { fail } from '../platform/errors/failure.ts'
import type { Settings } from '../settings/register.ts'

/**
 * The provider's account that holds a tenant's charges, so that no tenant reaches another's.
 * @throws POLICY.refund.no_account for a tenant that the settings give none
 */
export function accountOf(tenant: string, settings: Settings): string {
  const { accounts, prefix } = settings['refunds.account']
  if (Object.hasOwn(accounts, tenant)) return accounts[tenant] as string
  if (prefix === undefined) throw fail('POLICY.refund.no_account')
  return `${prefix}${tenant}`
}
