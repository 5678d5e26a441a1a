import { afterAll, beforeEach, describe, expect, test } from '@jest/globals'
import { comparedAccounts } from '#bin/commands/refunds/refunds.ts'
import type { Operator } from '#bin/commands/stack/operator-audit.ts'
import { blockTenant } from '#bin/commands/tenants/block-tenant.ts'
import { connectAccount, disconnectAccount } from '#bin/commands/tenants/connect-account.ts'
import { listTenants } from '#bin/commands/tenants/list-tenants.ts'
import { timestamp } from '#shared/platform/base/clock.ts'
import { accountKey, accountsOf, readCurrent } from '#shared/refunds/accounts.ts'
import type { Settings } from '#shared/settings/register.ts'
import { type MovableClock, movableClock } from '#test/support/clocks.ts'
import { outcome } from '#test/support/outcome.ts'
import { startPaymentProvider } from '#test/support/payment-provider/payment-provider.ts'
import { type Service, startService } from '#test/support/service.ts'
import { profile } from '#test/support/settings.ts'

const start = Date.parse('2026-03-01T12:00:00Z')
const provider = await startPaymentProvider()
afterAll(() => provider.stop())

let service: Service
let clock: MovableClock
let operator: Operator

async function startWith(account: Settings['refunds.account']) {
  clock = movableClock(start)
  const settings = profile('shared/settings/profiles/local.json', {
    'refunds.account': account,
    'refunds.provider': { endpoint: provider.endpoint, attemptMilliseconds: 10_000 },
  })
  service = await startService({ clock, settings, remembers: true })
  operator = { table: service.table, clock, name: 'jane' }
}

beforeEach(() => startWith('connected'))

const refund = async (tenant: string, key: string) =>
  outcome(
    await service.call({
      method: 'POST',
      path: '/v1/refunds',
      as: { tenant },
      headers: { 'Idempotency-Key': key },
      body: { charge_id: `ch_${key}`, amount: 700 },
    }),
  )
const paidIn = (key: string) =>
  provider.refunds().flatMap(({ charge, account }) => (charge === `ch_${key}` ? [account] : []))
const auditOf = async (tenant: string) =>
  (await service.items(tenant, 'audit')).map(({ actor_id, action, before, after }) => [
    actor_id,
    action,
    { ...(before as object), ...(after as object) },
  ])

async function listed(blocked = false) {
  const rows: object[] = []
  for await (const row of listTenants(service.table, { blocked })) rows.push(row)
  return rows
}

describe('a refund', () => {
  test('is made in the connected account', async () => {
    await connectAccount(operator, 'acme', 'acct_special')
    expect([await refund('acme', 'special'), paidIn('special')]).toEqual(['201', ['acct_special']])
  })

  test('of a tenant without an account is rejected, and nothing is stored', async () => {
    await connectAccount(operator, 'other', 'acct_other')
    expect(await refund('acme', 'none')).toBe('409 POLICY.refund.no_account')
    expect(await service.items('acme', 'refund')).toEqual([])
    await connectAccount(operator, 'acme', 'acct_acme')
    // The rejection is not remembered.
    expect([await refund('acme', 'none'), paidIn('none')]).toEqual(['201', ['acct_acme']])
  })

  test('is rejected 30 seconds after a disconnect at the latest, but not its repetition', async () => {
    await connectAccount(operator, 'acme', 'acct_1')
    expect(await refund('acme', 'before')).toBe('201')
    await disconnectAccount(operator, 'acme')
    clock.advance(30_000)
    expect(await refund('acme', 'after')).toBe('409 POLICY.refund.no_account')
    expect([await refund('acme', 'before'), paidIn('before')]).toEqual(['201', ['acct_1']])
  })

  test('is made in a new account 30 seconds later at the latest', async () => {
    await connectAccount(operator, 'acme', 'acct_1')
    await refund('acme', 'first')
    await connectAccount(operator, 'acme', 'acct_2')
    clock.advance(30_000)
    await refund('acme', 'second')
    expect([paidIn('first'), paidIn('second')]).toEqual([['acct_1'], ['acct_2']])
  })

  test('names its account in the ledger', async () => {
    await connectAccount(operator, 'acme', 'acct_booked')
    await refund('acme', 'booked')
    expect(await service.items('acme', 'ledger')).toMatchObject([{ account: 'acct_booked' }])
  })

  test('of the local run is made in the account after the prefix, until one was connected', async () => {
    await startWith({ prefix: 'acct_' })
    expect([await refund('acme', 'prefix'), paidIn('prefix')]).toEqual(['201', ['acct_acme']])
    await connectAccount(operator, 'acme', 'acct_own')
    clock.advance(30_000)
    expect([await refund('acme', 'own'), paidIn('own')]).toEqual(['201', ['acct_own']])
    await disconnectAccount(operator, 'acme')
    clock.advance(30_000)
    expect(await refund('acme', 'late')).toBe('409 POLICY.refund.no_account')
  })
})

describe('an account', () => {
  test('is connected to one tenant if two operators connect it at the same time', async () => {
    const tenants = ['a', 'b', 'c', 'd']
    const connected = await Promise.allSettled(
      tenants.map((tenant) => connectAccount(operator, tenant, 'acct_1')),
    )
    expect(connected.map(({ status }) => status).sort()).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
      'rejected',
    ])
    expect(await listed()).toMatchObject([{ account: 'acct_1', state: 'connected' }])
  })

  test('is the only connected one of its tenant if several are connected at the same time', async () => {
    const accounts = ['acct_1', 'acct_2', 'acct_3']
    await Promise.all(accounts.map((account) => connectAccount(operator, 'acme', account)))
    const connected = (await accountsOf(operator.table, 'acme')).filter(
      ({ disconnected_at }) => disconnected_at === undefined,
    )
    expect(connected).toHaveLength(1)
    expect(await readCurrent(operator.table, 'acme')).toMatchObject({ account: connected[0]?.account })
    expect(await auditOf('acme')).toHaveLength(3)
  })

  test('belongs to its tenant also after a disconnect', async () => {
    await connectAccount(operator, 'acme', 'acct_1')
    await disconnectAccount(operator, 'acme')
    await expect(connectAccount(operator, 'other', 'acct_1')).rejects.toThrow(
      'acct_1 belongs to the tenant acme',
    )
    expect(await connectAccount(operator, 'acme', 'acct_1')).toBeUndefined()
    expect(await listed()).toMatchObject([{ tenant: 'acme', state: 'connected' }])
  })

  test('replaces another one', async () => {
    await connectAccount(operator, 'acme', 'acct_1')
    expect(await connectAccount(operator, 'acme', 'acct_2')).toBe('acct_1')
    expect(await auditOf('acme')).toEqual([
      ['jane', 'tenant.connect', { account: 'acct_1' }],
      ['jane', 'tenant.connect', { account: 'acct_2', replaced: 'acct_1' }],
    ])
  })

  test('is disconnected once', async () => {
    await connectAccount(operator, 'acme', 'acct_1')
    expect(await disconnectAccount(operator, 'acme')).toBe('acct_1')
    expect(await disconnectAccount(operator, 'acme')).toBeUndefined()
    expect((await auditOf('acme')).at(-1)).toEqual(['jane', 'tenant.disconnect', { account: 'acct_1' }])
    expect(await auditOf('acme')).toHaveLength(2)
  })
})

describe('the comparison by command', () => {
  const compared = () => comparedAccounts(service.table, 'acme', service.settings)

  test('is made in all accounts that the tenant has or had, and names those that are lost', async () => {
    for (const account of ['acct_1', 'acct_2', 'acct_3']) await connectAccount(operator, 'acme', account)
    const [{ account, connected_at } = { account: '', connected_at: '' }] = await accountsOf(
      service.table,
      'acme',
    )
    const item = { ...accountKey('acme', account), account, connected_at, lost_at: connected_at }
    await service.table.put({ item, condition: 'none' })
    expect(await compared()).toEqual({ accounts: ['acct_2', 'acct_3'], lost: ['acct_1'] })
  })

  test('is refused for a tenant without an account', async () => {
    await expect(compared()).rejects.toThrow('acme has no account')
  })

  test('is made in the account after the prefix on the local run', async () => {
    await startWith({ prefix: 'acct_' })
    expect(await compared()).toEqual({ accounts: ['acct_acme'], lost: [] })
  })
})

describe('the list of tenants', () => {
  test('has their accounts and blocks, by the names of the tenants', async () => {
    const at = timestamp(start)
    await connectAccount(operator, 'shop', 'acct_1')
    await connectAccount(operator, 'acme', 'acct_3')
    await connectAccount(operator, 'acme', 'acct_2')
    await blockTenant(operator, 'bank', { force: true })
    await blockTenant(operator, 'shop')
    expect(await listed()).toEqual([
      { tenant: 'acme', blocked: false, account: 'acct_2', state: 'connected', connected_at: at },
      {
        ...{ tenant: 'acme', blocked: false, account: 'acct_3', state: 'disconnected' },
        ...{ connected_at: at, disconnected_at: at },
      },
      { tenant: 'bank', blocked: true },
      { tenant: 'shop', blocked: true, account: 'acct_1', state: 'connected', connected_at: at },
    ])
    expect(await listed(true)).toMatchObject([{ tenant: 'bank' }, { tenant: 'shop' }])
  })

  test('has all of many accounts', async () => {
    const names = Array.from({ length: 230 }, (_, n) => `t${String(n).padStart(3, '0')}`)
    await Promise.all(names.map((tenant) => connectAccount(operator, tenant, `acct_${tenant}`)))
    expect(await listed()).toMatchObject(
      names.map((tenant) => ({ tenant, account: `acct_${tenant}`, state: 'connected' })),
    )
  })
})
