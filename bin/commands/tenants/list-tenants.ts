import { readBlockedTenants } from '#shared/platform/identity/blocked-tenants.ts'
import type { Table } from '#shared/platform/table/table.ts'
import { type Account, accountKey, allAccounts } from '#shared/refunds/accounts.ts'

interface ListedTenant extends Partial<Account> {
  tenant: string
  blocked: boolean
  /** Of the account. */
  state?: ReturnType<typeof stateOf>
}

/** The number of items that are read at once. */
const atOnce = 100

/**
 * Yields what an operator has decided about tenants, by their names: a row for each account that a tenant has or had, and
 * for each blocked tenant. Other tenants exist by their tokens alone.
 */
export async function* listTenants(
  table: Table,
  { blocked: onlyBlocked }: { blocked: boolean },
): AsyncGenerator<ListedTenant> {
  const blocked = new Set((await readBlockedTenants(table)).tenants)
  const owned = await allAccounts(table)
  const withAccount = new Set(owned.map(({ tenant }) => tenant))
  const others = [...blocked].filter((tenant) => !withAccount.has(tenant)).map((tenant) => ({ tenant }))
  const all: { tenant: string; account?: string }[] = [...owned, ...others]
  const listed = all
    .filter(({ tenant }) => !onlyBlocked || blocked.has(tenant))
    .sort((one, other) => (one.tenant < other.tenant ? -1 : Number(one.tenant > other.tenant)))
  for (let start = 0; start < listed.length; start += atOnce) {
    const part = listed.slice(start, start + atOnce)
    const keys = part.flatMap(({ tenant, account }) => (account ? [accountKey(tenant, account)] : []))
    const items = keys.length > 0 ? await table.getMany(keys) : []
    const accounts = new Map(items.map(({ pk: _, sk, ...item }) => [sk, item as unknown as Account]))
    for (const { tenant, account } of part) {
      const of = account === undefined ? undefined : accounts.get(account)
      yield { tenant, blocked: blocked.has(tenant), ...(of && { ...of, state: stateOf(of) }) }
    }
  }
}

function stateOf({ disconnected_at, lost_at }: Account): 'connected' | 'disconnected' | 'lost' {
  if (lost_at !== undefined) return 'lost'
  return disconnected_at === undefined ? 'connected' : 'disconnected'
}
