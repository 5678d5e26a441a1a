import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { startPaymentProvider } from '#test/support/payment-provider/payment-provider.ts'
import { type Service, startService } from '#test/support/service.ts'
import { profile, tokenFor } from '#test/support/settings.ts'
import { createTable } from '#test/support/tables.ts'
import { uniqueTenant } from '#test/support/unique-tenant.ts'
import { expectBalanced, ledgerOf, summaryOf, unfinished } from '../refunds/refund-ledger-check.ts'
import { startFakeAws } from '../support/fake-aws.ts'
import { startDynamodbProxy } from './dynamodb-proxy.ts'
import { bundleFunctions, type Functions, postEvent } from './function-process.ts'

/** Longer than the lease of a dead process, after which the sweeper resumes its refund. */
const leaseMilliseconds = 31_000
const minAgeMilliseconds = 61_000

let service: Service
let functions: Functions
let tenant: string

const provider = await startPaymentProvider()
const proxy = await startDynamodbProxy(process.env.DYNAMODB_ENDPOINT ?? '')
const secrets = await startFakeAws({ 'secretsmanager.GetSecretValue': () => ({ SecretString: 'sk_test' }) })
beforeAll(async () => {
  const settings = profile('shared/settings/profiles/local.json', {
    'refunds.provider': { endpoint: provider.endpoint, attemptMilliseconds: 2000 },
  })
  service = await startService({ settings, tableName: await createTable() })
  functions = await bundleFunctions(
    { refund: 'refunds/create-refund', finish: 'platform/finish-sagas' },
    settings,
    {
      AWS_ENDPOINT_URL_DYNAMODB: proxy.endpoint,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.endpoint,
      PAYMENTS_SECRET_ARN: 'payments',
      TABLE_NAME: service.tableName,
    },
  )
})
beforeEach(() => {
  tenant = uniqueTenant('killed')
})
afterEach(async () => {
  await functions.killAll()
  proxy.reset()
  provider.faults = () => undefined
})
afterAll(async () => {
  await functions.stop()
  await Promise.all([proxy.stop(), secrets.stop(), provider.stop()])
})

async function refundEvent(charge_id = 'ch_killed') {
  const headers = { Authorization: `Bearer ${await tokenFor({ tenant })}`, 'Idempotency-Key': 'key' }
  return postEvent('/v1/refunds', headers, { charge_id, amount: 700 })
}

/**
 * Resolves once the n-th call of the function is held, before or after it takes effect. Its next ones are held, too: it
 * makes another attempt if a busy machine kills it only after three seconds.
 */
function held(calls: 'TransactWriteItems' | 'PutItem', n: number, fault: 'hold' | 'hold-request') {
  let seen = 0
  const when = ({ operation }: { operation: string }) => operation === calls && ++seen >= n
  return proxy.inject({ when, times: Number.POSITIVE_INFINITY, fault }).injected
}

const heldTransaction = (n: number, fault: 'hold' | 'hold-request') => held('TransactWriteItems', n, fault)

/** Resolves once the provider received the request, or paid. It does not respond. */
async function heldPayout(when: 'before' | 'after') {
  const { length: calls } = provider.calls
  provider.faults = () => ({ when, how: 'lose' })
  const reached = () => provider.calls.length > calls && (when === 'before' || paid() > 0)
  while (!reached()) await new Promise((resolve) => setTimeout(resolve, 2))
}

const paid = () => provider.refunds().filter(({ account }) => account === `acct_${tenant}`).length
const nothing = { refunds: [], ledger: 0, payouts: 0 }
const pending = { refunds: ['pending'], ledger: 0, payouts: 0 }
const done = { refunds: ['succeeded'], ledger: 1, payouts: 1 }

/** The time of the kill, and the expected state. */
const moments: [string, () => Promise<unknown>, object][] = [
  ['before its start is committed', () => heldTransaction(1, 'hold-request'), nothing],
  ['after its start is committed', () => heldTransaction(1, 'hold'), pending],
  ['before the provider carries it out', () => heldPayout('before'), pending],
  ['after the provider’s call', () => heldPayout('after'), { ...pending, payouts: 1 }],
  ['before its outcome is committed', () => heldTransaction(2, 'hold-request'), { ...pending, payouts: 1 }],
  ['after its outcome is committed', () => heldTransaction(2, 'hold'), done],
]

/** Starts a refund in a function that is killed at that time. */
async function killDuring(event: object, at: () => Promise<unknown>) {
  const target = await functions.start('refund')
  const reached = at()
  target.begin(event)
  await reached
  await target.kill()
  proxy.reset()
  provider.faults = () => undefined
}

const summary = ({ statusCode, headers }: { statusCode: number; headers: Record<string, string> }) => [
  statusCode,
  headers['Idempotency-Status'],
]

async function expectOneRefund() {
  const state = await ledgerOf(service, provider, tenant)
  expect(summaryOf(state)).toEqual(done)
  expectBalanced(state)
  expect(await unfinished(service)).toBe(0)
  expect((await service.items(tenant, 'audit')).map(({ action }) => action).toSorted()).toEqual([
    'refund',
    'refund_succeeded',
  ])
}

describe.each(moments)('a refund whose process is killed %s', (_, at, left) => {
  test('results in one payout, one ledger entry and one response when the request is retried', async () => {
    const event = await refundEvent()
    await killDuring(event, at)
    expect(summaryOf(await ledgerOf(service, provider, tenant))).toEqual(left)

    const successor = await functions.start('refund', leaseMilliseconds)
    const first = await successor.send(event)
    expect(summary(first)).toEqual([201, left === done ? 'replayed' : 'stored'])
    const others = await functions.start('refund')
    for (const process of [successor, others, others]) {
      const replay = await process.send(event)
      expect([...summary(replay), replay.body]).toEqual([201, 'replayed', first.body])
    }
    await expectOneRefund()
  })

  test('is finished once by the sweeper alone', async () => {
    const event = await refundEvent()
    await killDuring(event, at)
    await (await functions.start('finish', minAgeMilliseconds)).send({})
    // Without a started saga there is nothing to finish.
    if (left !== nothing) await expectOneRefund()

    const successor = await functions.start('refund')
    const first = await successor.send(event)
    expect(summary(first)).toEqual([201, left === nothing ? 'stored' : 'replayed'])
    const replay = await successor.send(event)
    expect([...summary(replay), replay.body]).toEqual([201, 'replayed', first.body])
    await expectOneRefund()
  })
})

test('a refund whose processes are killed one after another is executed once', async () => {
  const event = await refundEvent()
  for (const [round, [, at, left]] of moments.entries()) {
    // The first transaction of later processes is rejected, and they take the saga over.
    if (left === done || round === 0) continue
    const target = await functions.start('refund', round * leaseMilliseconds)
    const reached = at()
    target.begin(event)
    await reached
    await target.kill()
    proxy.reset()
    provider.faults = () => undefined
  }
  const successor = await functions.start('refund', moments.length * leaseMilliseconds)
  const first = await successor.send(event)
  expect(summary(first)).toEqual([201, 'stored'])
  expect((await successor.send(event)).body).toBe(first.body)
  await expectOneRefund()
})

test('until the lease of a dead process expires, a retry fails as retryable', async () => {
  const event = await refundEvent()
  await killDuring(event, () => heldPayout('after'))
  const early = await (await functions.start('refund')).send(event)
  expect([early.statusCode, JSON.parse(early.body).error.code]).toEqual([503, 'DEPENDENCY.unavailable'])
  await (await functions.start('finish')).send({})
  expect(summaryOf(await ledgerOf(service, provider, tenant))).toEqual({ ...pending, payouts: 1 })
  await (await functions.start('finish', minAgeMilliseconds)).send({})
  await expectOneRefund()
})

test('a sweeper killed at any of its steps leaves the refund to the next one', async () => {
  const event = await refundEvent()
  await killDuring(event, () => heldPayout('before'))
  const ends: (() => Promise<unknown>)[] = [
    () => held('PutItem', 1, 'hold-request'),
    () => held('PutItem', 1, 'hold'),
    () => heldPayout('before'),
    () => heldPayout('after'),
    () => heldTransaction(1, 'hold-request'),
    () => heldTransaction(1, 'hold'),
  ]
  for (const [round, at] of ends.entries()) {
    const sweeper = await functions.start('finish', minAgeMilliseconds + round * leaseMilliseconds)
    const reached = at()
    sweeper.begin({})
    await reached
    await sweeper.kill()
    proxy.reset()
    provider.faults = () => undefined
  }
  await expectOneRefund()
  const replay = await (await functions.start('refund')).send(event)
  expect(summary(replay)).toEqual([201, 'replayed'])
})

describe('a refund that is pending at the provider', () => {
  /** Longer than refunds.pendingMinutes. */
  const pendingMilliseconds = 16 * 60_000

  async function leavePending() {
    const event = await refundEvent('ch_pending_killed')
    expect(JSON.parse((await (await functions.start('refund')).send(event)).body)).toMatchObject({
      status: 'pending',
    })
    return event
  }
  /** The provider pays, and reports it to nobody. */
  function pay() {
    for (const one of provider.refunds()) if (one.account === `acct_${tenant}`) one.status = 'succeeded'
  }

  test('is settled by the service itself', async () => {
    await leavePending()
    await (await functions.start('finish', pendingMilliseconds)).send({})
    expect(summaryOf(await ledgerOf(service, provider, tenant))).toEqual({ ...pending, payouts: 1 })
    pay()
    await (await functions.start('finish', 3 * pendingMilliseconds)).send({})
    await expectOneRefund()
  })

  test.each([
    ['before its outcome is committed', 'hold-request'],
    ['after its outcome is committed', 'hold'],
  ] as const)('is settled once if the sweeper is killed %s', async (_, fault) => {
    await leavePending()
    pay()
    const target = await functions.start('finish', pendingMilliseconds)
    const reached = heldTransaction(1, fault)
    target.begin({})
    await reached
    await target.kill()
    proxy.reset()
    await (await functions.start('finish', pendingMilliseconds + minAgeMilliseconds)).send({})
    await expectOneRefund()
  })
})
