import { timestamp } from '#shared/platform/base/clock.ts'
import type { Put } from '#shared/platform/table/table.ts'
import {
  accountKey,
  currentPut,
  findAccount,
  ownerKey,
  ownerOfAccount,
  readCurrent,
} from '#shared/refunds/accounts.ts'
import { auditOfOperator, type Operator } from '../stack/operator-audit.ts'

/**
 * Connects an account at the payment provider: new refunds of the tenant are made in it.
 * @returns the account that was connected before, if it was another one. It is disconnected.
 * @throws Error if another tenant has or had the account
 */
export async function connectAccount(
  operator: Operator,
  tenant: string,
  account: string,
): Promise<string | undefined> {
  const { table, clock } = operator
  for (;;) {
    const [current, owner] = await Promise.all([readCurrent(table, tenant), ownerOfAccount(table, account)])
    if (owner !== undefined && owner !== tenant)
      throw new Error(`${account} belongs to the tenant ${owner}, also after a disconnect`)
    const replaced = current.account === account ? undefined : current.account
    const after = { account, ...(replaced && { replaced }) }
    const refusal = await table.transact([
      currentPut(tenant, current, account),
      {
        item: { ...ownerKey(account), tenant },
        condition: owner === undefined ? { absent: true } : { matches: { tenant } },
      },
      {
        item: { ...accountKey(tenant, account), account, connected_at: timestamp(clock.now()) },
        condition: 'none',
      },
      ...(replaced ? [await disconnected(operator, tenant, replaced)] : []),
      auditOfOperator(operator, tenant, { action: 'tenant.connect', target: 'tenant', after }),
    ])
    // Another operator may have changed the accounts meanwhile, or connected this one to another tenant.
    if (!refusal) return replaced
  }
}

/**
 * Disconnects the account of a tenant, which makes no new refund.
 * @returns the account; undefined if none was connected
 */
export async function disconnectAccount(operator: Operator, tenant: string): Promise<string | undefined> {
  const { table } = operator
  for (;;) {
    const current = await readCurrent(table, tenant)
    const { account } = current
    if (account === undefined) return undefined
    const refusal = await table.transact([
      currentPut(tenant, current),
      await disconnected(operator, tenant, account),
      auditOfOperator(operator, tenant, {
        action: 'tenant.disconnect',
        target: 'tenant',
        before: { account },
      }),
    ])
    if (!refusal) return account
  }
}

/** Returns the write of an account that is no longer connected. Without a condition: that of the connected account covers it. */
async function disconnected({ table, clock }: Operator, tenant: string, account: string): Promise<Put> {
  const known = await findAccount(table, tenant, account)
  const disconnected_at = timestamp(clock.now())
  return { item: { ...accountKey(tenant, account), ...known, disconnected_at }, condition: 'none' }
}
