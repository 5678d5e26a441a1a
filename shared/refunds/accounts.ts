import { fail } from '../platform/base/failure.ts'
import { readAll } from '../platform/listing/merge.ts'
import type { WorkContext } from '../platform/request/context.ts'
import { type Item, type Key, keyOf } from '../platform/table/keys.ts'
import type { Put, Table } from '../platform/table/table.ts'

/**
 * An account at the payment provider that a tenant has or had. It stays the tenant's for its earlier refunds, and no other
 * tenant can connect it.
 */
export interface Account {
  account: string
  connected_at: string
  /** When an operator disconnected it, or connected another one. */
  disconnected_at?: string
  /** When its owner ended the access of the service. */
  lost_at?: string
}

/** The connected account of a tenant. */
interface Current {
  /** Absent if it was disconnected or lost. */
  account?: string
  /** The number of changes of the tenant's accounts; 0 before the first. */
  version: number
}

const currentName = 'current'

export function accountKey(tenant: string, account: string): Key {
  return keyOf(tenant, 'account', account)
}

/** The key of the item that names the tenant of an account. All are in one partition, so they are found without a scan. */
export function ownerKey(account: string): Key {
  return { pk: 'account_owner#all', sk: account }
}

export async function readCurrent(table: Pick<Table, 'get'>, tenant: string): Promise<Current> {
  return ((await table.get(accountKey(tenant, currentName))) ?? { version: 0 }) as Item & Current
}

/**
 * Returns the write of the connected account. It is a part of each change of a tenant's accounts, and is rejected if they
 * were changed since it was read.
 * @param account none if it was disconnected or lost
 */
export function currentPut(tenant: string, { version }: Current, account?: string): Put {
  const item = { ...accountKey(tenant, currentName), version: version + 1, ...(account && { account }) }
  return { item, condition: version === 0 ? { absent: true } : { matches: { version } } }
}

/**
 * Returns the account of a tenant's new refunds, so no tenant can reach another's charges. A process learns of a change
 * within 30 seconds.
 * @throws POLICY.refund.no_account if none is connected
 */
export function accountOf(
  tenant: string,
  { settings, table, remember }: Pick<WorkContext, 'settings' | 'table' | 'remember'>,
): Promise<string> {
  return remember(`account of ${tenant}`, async () => {
    const { account, version } = await readCurrent(table, tenant)
    const required = settings['refunds.account']
    if (account !== undefined) return account
    if (required === 'connected' || version > 0) throw fail('POLICY.refund.no_account')
    return `${required.prefix}${tenant}`
  })
}

/** Returns all accounts of a tenant. */
export async function accountsOf(table: Table, tenant: string): Promise<Account[]> {
  const items = await allOf(table, accountKey(tenant, currentName).pk)
  return items.filter(({ sk }) => sk !== currentName) as unknown as Account[]
}

/** Returns an account of a tenant. */
export async function findAccount(
  table: Pick<Table, 'get'>,
  tenant: string,
  account: string,
): Promise<Account | undefined> {
  return (await table.get(accountKey(tenant, account))) as (Item & Account) | undefined
}

/** Returns the tenant that has or had an account. */
export async function ownerOfAccount(
  table: Pick<Table, 'get'>,
  account: string,
): Promise<string | undefined> {
  return (await table.get(ownerKey(account)))?.tenant as string | undefined
}

/** Returns the accounts of all tenants. */
export async function allAccounts(table: Table): Promise<OwnedAccount[]> {
  const all: OwnedAccount[] = []
  for await (const accounts of accountPages(table)) all.push(...accounts)
  return all
}

/** An account, and the tenant that has or had it. */
interface OwnedAccount {
  tenant: string
  account: string
}

/** Yields the accounts of all tenants, some at a time. @param from the first of them in the order of their names */
export async function* accountPages(table: Table, from?: string): AsyncGenerator<OwnedAccount[]> {
  for await (const items of pagesOf(table, ownerKey('').pk, from))
    yield items.map(({ sk, tenant }) => ({ tenant: String(tenant), account: sk }))
}

async function allOf(table: Table, partition: string): Promise<Item[]> {
  const all: Item[] = []
  for await (const items of pagesOf(table, partition)) all.push(...items)
  return all
}

function pagesOf(table: Table, partition: string, low = ' '): AsyncGenerator<Item[]> {
  return readAll(table, [partition], { low, high: '\u{10ffff}', descending: false, atOnce: 1000 })
}
