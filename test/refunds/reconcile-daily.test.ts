import { beforeEach, describe, expect, test } from '@jest/globals'
import type { Operator } from '#bin/commands/stack/operator-audit.ts'
import { blockTenant, unblockTenant } from '#bin/commands/tenants/block-tenant.ts'
import { connectAccount, disconnectAccount } from '#bin/commands/tenants/connect-account.ts'
import { timestamp } from '#shared/platform/base/clock.ts'
import { fail } from '#shared/platform/base/failure.ts'
import type { Log } from '#shared/platform/base/log.ts'
import { blockCheck } from '#shared/platform/identity/blocked-tenants.ts'
import { openWork } from '#shared/platform/request/context.ts'
import { accountKey, findAccount, ownerKey } from '#shared/refunds/accounts.ts'
import type {
  ProviderRefund,
  ProviderRefundRange,
  ProviderRefunds,
} from '#shared/refunds/provider-refunds.ts'
import { type ReconcileTask, reconcileMessage, startMessage } from '#shared/refunds/reconcile-daily.ts'
import type { Settings } from '#shared/settings/register.ts'
import { declaredRuntime } from '#test/support/declared-table.ts'
import { idAt } from '#test/support/ids.ts'
import { type MemoryRuntime, memoryRuntime } from '#test/support/memory-runtime.ts'
import { localSettings, otherSettings } from '#test/support/settings.ts'

const tenants = Array.from({ length: 23 }, (_, n) => `tenant-${n}`)
const hour = 3_600_000
const minute = 60_000
const day = 24 * hour
const oneDay = { 'refunds.reconcile': { ...localSettings['refunds.reconcile'], days: 1 } }

let sent: ReconcileTask[][]
let logged: Parameters<Log['reconciled']>[0][]
let ranges: ProviderRefundRange[]
let providerRefunds: ProviderRefund[]
let isRefused: (body: string) => boolean
let runtime: MemoryRuntime
let operator: Operator
let failure: Error | undefined

beforeEach(async () => {
  runtime = memoryRuntime({ 'refunds.account': 'connected', ...oneDay })
  runtime.isBlocked = blockCheck(runtime.clock)
  operator = { ...runtime, name: 'jane' }
  for (const [n, tenant] of tenants.entries()) await connectAccount(operator, tenant, `acct_${n}`)
  sent = []
  logged = []
  ranges = []
  providerRefunds = []
  isRefused = () => false
  failure = undefined
})

/**
 * Handles a message with a time limit.
 * @param pageMilliseconds how long the provider takes for each refund
 * @param sendMilliseconds how long the queue takes for each batch of messages
 */
async function handle(
  body: string,
  {
    settings = {},
    milliseconds = 25_000,
    pageMilliseconds = 0,
    sendMilliseconds = 0,
  }: {
    settings?: Partial<Settings>
    milliseconds?: number
    pageMilliseconds?: number
    sendMilliseconds?: number
  } = {},
) {
  const log = { ...runtime.log, reconciled: (line: (typeof logged)[number]) => void logged.push(line) }
  const correlation = { id: 'corr-1', trace: {} }
  const context = openWork(
    { ...declaredRuntime('refunds.reconcile', runtime), settings: { ...runtime.settings, ...settings }, log },
    { operation: 'reconciliations', correlation, milliseconds },
  )
  const provider: ProviderRefunds = {
    async *list(range) {
      ranges.push(range)
      if (failure) throw failure
      for (const providerRefund of providerRefunds.filter(
        ({ createdAt }) => createdAt >= range.from && createdAt < range.to,
      )) {
        await context.sleep(pageMilliseconds)
        yield providerRefund
      }
    },
    find: async ({ id }) => providerRefunds.find((providerRefund) => providerRefund.id === id),
  }
  await reconcileMessage(body, context, {
    openProviderRefunds: async () => provider,
    async send(messages) {
      await context.sleep(sendMilliseconds)
      sent.push(messages.map((message) => JSON.parse(message.body)))
      return messages.map((message) => isRefused(message.body))
    },
  })
  return context.now()
}

/** A comparison of one day, if there is no position. */
const taskOf = (to: number, account = 'acct_1') =>
  JSON.stringify({ tenant: 'tenant-1', account, to: timestamp(to) })

function unbooked(at: number): ProviderRefund {
  const refundId = idAt(at)
  const sums = { amount: 700, currency: 'EUR', status: 'succeeded' as const }
  return {
    id: `re_${refundId}`,
    refundId,
    tenant: 'tenant-1',
    requestName: 'request-1',
    chargeId: 'ch_1',
    ...sums,
    createdAt: Math.floor(at / 1000) * 1000,
  }
}

describe('the message of the schedule', () => {
  test('becomes a message for each account, at most ten at once', async () => {
    await handle(startMessage)
    expect(sent.map(({ length }) => length)).toEqual([10, 10, 3])
    expect(
      sent
        .flat()
        .map(({ tenant }) => tenant)
        .sort(),
    ).toEqual(tenants.toSorted())
    expect(ranges).toEqual([])
  })

  test('becomes one for a former account, too', async () => {
    await connectAccount(operator, 'tenant-1', 'acct_new')
    await disconnectAccount(operator, 'tenant-2')
    await handle(startMessage)
    const of = (one: string) =>
      sent.flat().flatMap(({ tenant, account }) => (tenant === one ? [account] : []))
    expect([of('tenant-1').sort(), of('tenant-2')]).toEqual([['acct_1', 'acct_new'], ['acct_2']])
  })

  test.each([
    ['local', localSettings, 3, 30],
    ['other', otherSettings, 7, 60],
  ])('covers the days of the profile %s, but not the youngest refunds', async (_, profile, days, minutes) => {
    const settings = { 'refunds.reconcile': profile['refunds.reconcile'] }
    const to = (await handle(startMessage, { settings })) - minutes * minute
    const [task] = sent.flat()
    await handle(JSON.stringify(task), { settings })
    expect(ranges).toEqual([expect.objectContaining({ from: to - days * day, to })])
  })

  test('does nothing without accounts', async () => {
    runtime = memoryRuntime()
    await handle(startMessage)
    expect(sent).toEqual([])
  })

  test('is continued by further messages if there are more accounts than one may start', async () => {
    const accounts = Array.from({ length: 2500 }, (_, n) => `acct_many_${n}`)
    for (const account of accounts)
      await runtime.table.put({ item: { ...ownerKey(account), tenant: 'many' }, condition: 'none' })
    const to = runtime.clock.now() - oneDay['refunds.reconcile'].minAgeMinutes * minute
    const started: ReconcileTask[] = []
    const runs: number[] = []
    for (let next: string | undefined = startMessage; next; ) {
      const begun = runtime.clock.now()
      runs.push((await handle(next, { sendMilliseconds: 100 })) - begun)
      const tasks: object[] = sent.splice(0).flat()
      const isLast = 'account' in (tasks.at(-1) ?? {})
      next = isLast ? undefined : JSON.stringify({ ...tasks.pop(), addedLater: 1 })
      started.push(...(tasks as ReconcileTask[]))
    }
    expect(Math.max(...runs)).toBeLessThan(24_000)
    const all = [...accounts, ...tenants.map((_, n) => `acct_${n}`)]
    expect(started.map(({ account }) => account).sort()).toEqual(all.sort())
    expect(new Set(started.map((task) => task.to))).toEqual(new Set([timestamp(to)]))
  })

  test('is handled again if a message was not sent', async () => {
    isRefused = (body) => body.includes('"tenant-11"')
    await expect(handle(startMessage)).rejects.toMatchObject({ code: 'DEPENDENCY.unavailable' })
  })
})

describe('the message of an account', () => {
  test('compares it in the range', async () => {
    await handle(taskOf(day))
    expect(ranges).toEqual([expect.objectContaining({ account: 'acct_1', from: 0, to: day })])
    expect(sent).toEqual([])
  })

  test('logs the number of differences, also if there are none', async () => {
    await handle(taskOf(day))
    providerRefunds = [unbooked(minute), { ...unbooked(0), refundId: undefined, id: 're_by_hand' }]
    await handle(taskOf(day))
    expect(logged).toEqual([
      { tenant: 'tenant-1', account: 'acct_1', compared: 0, unrelated: 0, differences: 0 },
      { tenant: 'tenant-1', account: 'acct_1', compared: 1, unrelated: 1, differences: 1 },
    ])
  })

  test('compares an account that was disconnected', async () => {
    await disconnectAccount(operator, 'tenant-1')
    await handle(taskOf(day))
    expect(ranges).toMatchObject([{ account: 'acct_1' }])
  })

  test.each([
    ['raises the alarm of a lost account', false, [['PROVIDER_ACCOUNT_LOST', { tenant: 'tenant-1' }]]],
    ['ends without one after a disconnect', true, []],
  ])('%s if the account refuses the service', async (_, isDisconnected, alerts) => {
    if (isDisconnected) await disconnectAccount(operator, 'tenant-1')
    failure = fail('DEPENDENCY.unavailable', { refusedByTenant: true })
    await handle(taskOf(day))
    expect([ranges.length, runtime.alerts, sent, logged]).toEqual([1, alerts, [], []])
  })

  test('compares nothing while its tenant is blocked, and later goes on where it ended', async () => {
    await handle(taskOf(2 * day))
    await blockTenant(operator, 'tenant-1')
    runtime.clock.advance(minute)
    await handle(taskOf(10 * day))
    expect(ranges).toHaveLength(1)
    await unblockTenant(operator, 'tenant-1')
    runtime.clock.advance(minute)
    await handle(taskOf(11 * day))
    expect(ranges.at(-1)).toMatchObject({ from: 2 * day, to: 11 * day })
  })

  test('does nothing if the account is lost, or its tenant was purged', async () => {
    const known = await findAccount(runtime.table, 'tenant-1', 'acct_1')
    const item = { ...accountKey('tenant-1', 'acct_1'), ...known, lost_at: timestamp(day) }
    await runtime.table.put({ item, condition: 'none' })
    await handle(taskOf(day))
    await handle(taskOf(day, 'acct_purged'))
    expect([ranges, logged]).toEqual([[], []])
  })
})

describe('the position of an account', () => {
  const last = () => ranges.at(-1)

  test('extends the range over the days that failures left out', async () => {
    await handle(taskOf(2 * day))
    // The runs of seven days failed.
    await handle(taskOf(10 * day))
    expect(last()).toMatchObject({ from: 2 * day, to: 10 * day })
    await handle(taskOf(11 * day))
    expect(last()).toMatchObject({ from: 10 * day, to: 11 * day })
  })

  test('is that of no other account of the tenant', async () => {
    await connectAccount(operator, 'tenant-1', 'acct_new')
    await handle(taskOf(2 * day))
    await handle(taskOf(10 * day, 'acct_new'))
    expect(last()).toMatchObject({ account: 'acct_new', from: 9 * day })
    await handle(taskOf(11 * day))
    expect(last()).toMatchObject({ account: 'acct_1', from: 2 * day })
  })

  test('stays if the comparison fails', async () => {
    await handle(taskOf(2 * day))
    failure = new Error('the provider is down')
    await expect(handle(taskOf(5 * day))).rejects.toThrow('is down')
    failure = undefined
    await handle(taskOf(6 * day))
    expect(last()).toMatchObject({ from: 2 * day })
  })

  test('stays until the last message of a range', async () => {
    await handle(taskOf(2 * day))
    providerRefunds = Array.from({ length: 1800 }, (_, n) => unbooked(3 * day - n * 1000))
    await handle(taskOf(5 * day), { pageMilliseconds: 30 })
    const [[task] = []] = sent.splice(0)
    await handle(taskOf(6 * day))
    expect(last()).toMatchObject({ from: 2 * day })
    await handle(JSON.stringify(task))
    expect(last()).toMatchObject({ from: 2 * day })
  })

  test('never goes back, and shortens no range', async () => {
    await handle(taskOf(10 * day))
    await handle(taskOf(5 * day))
    await handle(taskOf(10 * day + hour))
    expect(last()).toMatchObject({ from: 9 * day + hour })
    await handle(taskOf(12 * day))
    expect(last()).toMatchObject({ from: 10 * day + hour })
  })
})

test('a range of several parts is compared by one message if the time suffices', async () => {
  providerRefunds = Array.from({ length: 1800 }, (_, n) => unbooked((1800 - n) * 1000))
  await handle(taskOf(day))
  expect(sent).toEqual([])
  expect(logged).toMatchObject([{ tenant: 'tenant-1', compared: 1800, unrelated: 0, differences: 1800 }])
})

test('a range that takes longer than a message may is continued by further messages, without gaps', async () => {
  providerRefunds = Array.from({ length: 1800 }, (_, n) => unbooked((1800 - n) * 1000))
  await handle(taskOf(day), { pageMilliseconds: 30 })
  for (let left = 10; sent.length > 0 && left > 0; left -= 1) {
    const [[task] = []] = sent.splice(0)
    await handle(JSON.stringify(task), { pageMilliseconds: 30 })
  }
  expect(logged.length).toBeGreaterThan(2)
  expect(logged.reduce((sum, { differences }) => sum + differences, 0)).toBe(1800)
  expect(sent).toEqual([])
})
