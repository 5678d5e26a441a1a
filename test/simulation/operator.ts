import { rotateApiKey as rotate } from '#bin/commands/api-keys/api-keys.ts'
import { dayMilliseconds, startBudget, timestamp } from '#shared/platform/base/clock.ts'
import { makeApiKey, readApiKey } from '#shared/platform/identity/api-key.ts'
import { reconcile } from '#shared/refunds/reconcile.ts'
import { clockOf } from '#test/support/clocks.ts'
import { idAt } from '#test/support/ids.ts'
import { epoch, type History } from './client.ts'
import { memoryTable, type Transit } from './memory-table.ts'
import type { Random } from './random.ts'
import { check } from './violation.ts'
import type { World } from './world.ts'

const scopes = [
  'orders:write',
  'orders:read',
  'codes:read',
  'refunds:read',
  'refunds:write',
  'discounts:verify',
]
const commandMilliseconds = 10_000

/** Gives a tenant its first API key. */
export function addApiKey({ store, random, scheduler }: World, history: History, tenant: string): void {
  const key_id = idAt(scheduler.now - 1000, (length) => random.bytes(length))
  const created_at = timestamp(scheduler.now)
  const { text, item } = makeApiKey(
    { tenant, key_id, name: 'simulated', scopes, created_at },
    random.bytes(32),
  )
  store.put({ item: { ...item, scopes: new Set(scopes) }, condition: 'none' })
  keep(history, tenant, text)
}

/** Replaces the API key of a tenant by the operator's command. Clients use the new key from now on. */
export async function rotateApiKey(
  world: World,
  history: History,
  { tenant, overlapSeconds, random }: { tenant: string; overlapSeconds: number | undefined; random: Random },
): Promise<void> {
  const id = readApiKey(history.apiKeys.get(tenant) ?? '')?.key_id ?? ''
  const { key } = await rotate(operatorOf(world, random), { tenant, id, overlapSeconds })
  keep(history, tenant, key)
}

/** Compares the ledgers of the tenants with the refunds of the provider, in each account that they have had. */
export async function compareWithProvider(world: World, accounts: readonly Account[]): Promise<void> {
  const { table, clock } = operatorOf(world, world.random)
  const providerRefunds = world.provider.refunds()
  const budget = startBudget(clock, commandMilliseconds)
  for (const { tenant, account } of accounts) {
    const range = { tenant, account, from: epoch - dayMilliseconds, to: clock.now() + dayMilliseconds }
    for await (const { differences, unrelated, totals } of reconcile(range, {
      table,
      providerRefunds,
      budget,
    })) {
      const isEqual = totals.every(({ provider, ledger }) => provider === ledger)
      const show = () => `${account}: ${JSON.stringify({ differences, unrelated, totals })}`
      check(differences.length === 0 && isEqual, 'the comparison with the provider finds nothing', show)
      check(unrelated.length === 1, 'the comparison lists payouts of others', show)
    }
  }
}

interface Account {
  tenant: string
  account: string
}

/** Returns the dependencies of an operator's command, which no fault affects. */
export function operatorOf({ store, scheduler }: World, random: Random, transit?: Transit) {
  const clock = clockOf(scheduler, random)
  const table = memoryTable(store, { clock, budget: startBudget(clock, commandMilliseconds) }, transit)
  return { table, clock, name: 'operator' }
}

function keep(history: History, tenant: string, key: string): void {
  history.apiKeys.set(tenant, key)
  history.secrets.add(key)
}
