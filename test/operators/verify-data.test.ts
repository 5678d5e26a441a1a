import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { PutCommand } from '@aws-sdk/lib-dynamodb'
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { checkData } from '#bin/commands/verify/data/check-data.ts'
import type { Violation } from '#bin/commands/verify/data/promise.ts'
import { verifyData } from '#bin/commands/verify/data/verify-data.ts'
import { firstIdAt, timestamp } from '#shared/platform/base/clock.ts'
import { type Item, keyOf, ownerOf } from '#shared/platform/table/keys.ts'
import { restoredKey } from '#shared/platform/table/restored.ts'
import type { Settings } from '#shared/settings/register.ts'
import { subscribedTenantsKey } from '#shared/subscribers/subscribed-tenants.ts'
import { writeRelease } from '#test/stored-data/write-release.ts'
import { compileCache } from '#test/support/compile-cache.ts'
import { documentClient } from '#test/support/dynamodb-client.ts'
import { accessOf } from '#test/support/fake-aws.ts'
import { startHttpServer } from '#test/support/http-server.ts'
import { localSettings } from '#test/support/settings.ts'
import { createTable } from '#test/support/tables.ts'

/** What this version stores after everything that clients and operators do, with work that has begun and not ended. */
let whole: Item[]
let at: number
beforeAll(async () => {
  const data = await writeRelease()
  whole = data.items.map((item) => unmarshall(item) as Item)
  at = data.at
  whole = changed(
    first('cart', ({ amount_minor }) => amount_minor !== undefined),
    { amount_minor: 1005, currency: 'EUR', discounts: usable().map(lineOf) },
  )
})

interface Checking {
  settings?: Settings
  isWhole?: boolean
  most?: number
  at?: number
}

async function violationsIn(items: readonly Item[], checking: Checking = {}): Promise<Violation[]> {
  const { settings = localSettings, isWhole = true, most, at: time = at } = checking
  const found: Violation[] = []
  const options = { settings, ...(most !== undefined && { most }) }
  for await (const one of checkData({ items: () => items, at: time, isWhole }, options)) found.push(one)
  return found
}

const kindOf = ({ pk }: Item) => ownerOf(pk).kind
const tenantOf = ({ pk }: Item) => ownerOf(pk).tenant
type Test = (item: Item) => boolean

/** Returns the first item of a kind that passes a test. */
function first(kind: string, isIt: Test = () => true): Item {
  const found = whole.find((item) => kindOf(item) === kind && isIt(item))
  if (!found) throw new Error(`nothing of the kind ${kind} is stored`)
  return found
}
const without = (...gone: Item[]) => whole.filter((item) => !gone.includes(item))
const changed = (item: Item, changes: object) =>
  whole.map((one) => (one === item ? { ...one, ...changes } : one))
const and = (...more: Item[]) => [...whole, ...more]

const paid: Test = ({ status }) => status === 'succeeded'
const waiting: Test = ({ status }) => status === 'pending'
const ofAction =
  (...actions: string[]): Test =>
  ({ action }) =>
    actions.includes(String(action))
const paidRefund = () => first('refund', paid)
const auditOf = (target: string, action: string) =>
  first('audit', (item) => item.target === target && item.action === action)
const cart = () => first('cart', ({ discounts }) => Array.isArray(discounts) && discounts.length > 0)
const linesOf = ({ discounts }: Item) => discounts as { code_id: string; amount_minor: number }[]
/** What a code of each type takes off a cart with 10.05 EUR. A half is rounded to the even neighbor. */
const amounts: Record<string, number> = { 'percent-10': 100, 'percent-25': 251, 'fixed-500': 500 }
/** The codes of the tenant of the first cart, of one type. */
function usable(): Item[] {
  const tenant = tenantOf(first('cart', ({ amount_minor }) => amount_minor !== undefined))
  const codes = whole.filter((item) => kindOf(item) === 'code' && tenantOf(item) === tenant)
  return codes.slice(0, 1)
}
function lineOf({ id, code, type }: Item): object {
  const { rule_id } = localSettings['codes.types'][String(type)] ?? {}
  return { code, code_id: id, rule_id, amount_minor: amounts[String(type)], version: 1 }
}
const operation = (...states: string[]) => first('operation', ({ state }) => states.includes(String(state)))
const recordOf = (saga: Item) => first('idempotency', ({ pk }) => pk === (saga.record as { pk: string }).pk)

/** Each violation: the promise, what it is about, and the items with it. */
const planted: Record<string, () => { items: Item[]; promise: string; about: string; settings?: Settings }> =
  {
    'a paid refund without its ledger entry': () => {
      const { id } = paidRefund()
      const items = without(first('ledger', ({ refund_id }) => refund_id === id))
      return { items, promise: 'the ledger is the paid and reversed refunds', about: `refund/${id}` }
    },
    'a ledger entry of another amount': () => {
      const entry = first('ledger')
      const items = changed(entry, { amount: Number(entry.amount) + 1 })
      return {
        items,
        promise: 'the ledger is the paid and reversed refunds',
        about: `refund/${entry.refund_id}`,
      }
    },
    'a reversed refund without its reversal': () => {
      const { id } = paidRefund()
      const items = changed(paidRefund(), { status: 'reversed' })
      return { items, promise: 'the ledger is the paid and reversed refunds', about: `refund/${id}` }
    },
    'a ledger entry without its refund': () => {
      const { id } = paidRefund()
      return {
        items: without(paidRefund()),
        promise: 'the ledger is the paid and reversed refunds',
        about: `refund/${id}`,
      }
    },
    'a ledger entry with another id of the provider': () => {
      const entry = first('ledger')
      const items = changed(entry, { provider_refund_id: 're_other' })
      const promise = "nothing of the provider's answer is lost"
      return { items, promise, about: `refund/${entry.refund_id}` }
    },
    'a payout that two refunds have': () => {
      const one = paidRefund()
      const { account, provider_refund_id } = one
      const id = String(first('order').id)
      const items = and({ ...one, ...keyOf(tenantOf(one), 'refund', id), id })
      const about = `payout/${account}/${provider_refund_id}`
      return { items, promise: 'a payout belongs to one refund', about }
    },
    'a lock of a refund that failed': () => {
      const { id, charge_id, pk, sk } = paidRefund()
      const lock = { ...keyOf(ownerOf(pk).tenant, 'charge_lock', String(charge_id)), refund_id: id }
      const failed = changed(paidRefund(), { status: 'failed' })
      const promise = 'a lock on a charge belongs to a paid refund'
      return { items: [...failed, lock], promise, about: `refund/${sk}` }
    },
    'a lock without its refund': () => {
      const id = firstIdAt(0)
      const items = and({ ...keyOf('acme', 'charge_lock', 'ch_lost'), refund_id: id })
      return { items, promise: 'a lock on a charge belongs to a paid refund', about: `refund/${id}` }
    },
    'a saga without its refund': () => {
      const { id } = (recordOf(first('pending-saga')).saga as { state: { id: string } }).state
      const items = without(first('refund', (refund) => refund.id === id))
      return { items, promise: 'the ledger is the paid and reversed refunds', about: `refund/${id}` }
    },
    'a pending refund that does not lock its charge': () => {
      const about = `refund/${first('refund', waiting).id}`
      const settings = { ...localSettings, 'refunds.policy': 'once_per_charge' as const }
      return { items: whole, promise: 'a pending refund locks its charge', about, settings }
    },
    'a payout without its audit record': () => {
      const about = `refund/${paidRefund().id}`
      const items = without(auditOf(about, 'refund_succeeded'))
      return { items, promise: 'outcomes are audited', about }
    },
    'a refund whose start is not audited': () => {
      const about = `refund/${first('refund', waiting).id}`
      return { items: without(auditOf(about, 'refund')), promise: 'outcomes are audited', about }
    },
    'a pending refund that nothing works on': () => {
      const saga = first('pending-saga')
      const record = recordOf(saga)
      const items = without(saga, record)
      const about = `refund/${(record.saga as { state: { id: string } }).state.id}`
      return { items, promise: 'nothing is pending forever', about }
    },
    'an erased order whose erasure is not audited': () => {
      const { pk, sk, id } = first('order')
      const items = changed(first('order'), { erased_at: timestamp(at), pk, sk, id })
      return { items, promise: 'outcomes are audited', about: `order/${sk}` }
    },
    'an order without the entry of its cart': () => {
      const entry = first('order_cart')
      const about = `order/${entry.sk.split('#')[1]}`
      return { items: without(entry), promise: 'a cart finds its orders', about }
    },
    'an entry of a cart without its order': () => {
      const entry = first('order_cart')
      const id = String(entry.sk.split('#')[1])
      const order = whole.find(({ sk }) => sk === id) as Item
      return { items: without(order), promise: 'a cart finds its orders', about: `order/${id}` }
    },
    'a code without its lock': () => {
      const lock = first('code_lock')
      return { items: without(lock), promise: 'a text belongs to one code', about: `code/${lock.code_id}` }
    },
    'a lock without its code': () => {
      const code = first('code')
      return { items: without(code), promise: 'a text belongs to one code', about: `code/${code.id}` }
    },
    'a code with the lock of another text': () => {
      const code = first('code')
      const items = changed(code, { code: 'ANOTHER' })
      return { items, promise: 'a text belongs to one code', about: `code/${code.id}` }
    },
    'a code with two locks': () => {
      const { pk, code_id } = first('code_lock')
      const items = and({ pk, sk: 'SECOND', code_id })
      return { items, promise: 'a text belongs to one code', about: `code/${code_id}` }
    },
    'a change of a code that is not audited': () => {
      const change = first('audit', ofAction('update', 'soft_delete', 'restore'))
      return { items: without(change), promise: 'all changes are audited', about: String(change.target) }
    },
    'a line that takes another amount than its rule gives': () => {
      const discounts = linesOf(cart()).map((line) => ({ ...line, amount_minor: line.amount_minor + 1 }))
      const items = changed(cart(), { discounts })
      return { items, promise: 'lines follow their rules', about: `cart/${cart().sk}` }
    },
    'a line of a code of another type': () => {
      const [line] = linesOf(cart())
      const code = first('code', ({ id }) => id === line?.code_id)
      const other = Object.keys(localSettings['codes.types']).find((type) => type !== code.type)
      const items = changed(code, { type: other })
      return { items, promise: 'lines follow their rules', about: `code/${code.id}` }
    },
    'a code that is on a cart twice': () => {
      const discounts = linesOf(cart())
      const free = discounts.map((line) => ({ ...line, amount_minor: 0 }))
      const items = changed(cart(), { amount_minor: 0, discounts: [...free, ...free] })
      return { items, promise: 'a code is on a cart once', about: `cart/${cart().sk}` }
    },
    'an item that names another tenant': () => {
      const order = first('order')
      const items = changed(order, { tenant_id: 'another' })
      return { items, promise: 'tenants are separate', about: `order/${order.sk}` }
    },
    'an audit record that names an id of another tenant': () => {
      const order = first('order')
      const record = first('audit', (item) => tenantOf(item) !== tenantOf(order))
      const items = changed(record, { target: `order/${order.id}` })
      return { items, promise: 'tenants are separate', about: String(order.id) }
    },
    'an event of another tenant for a subscriber': () => {
      const delivery = first('delivery')
      const body = JSON.stringify({ data: { tenant_id: 'another' } })
      const items = changed(delivery, { body })
      return { items, promise: 'tenants are separate', about: `delivery/${delivery.sk}` }
    },
    'an item of another form': () => {
      const delivery = first('delivery')
      const items = changed(delivery, { body: 'no JSON' })
      return { items, promise: 'items have their form', about: `delivery/${delivery.sk}` }
    },
    'an item in a partition where nothing looks for it': () => {
      const customer = first('customer')
      const items = changed(customer, { pk: `customer#${tenantOf(customer)}#99` })
      return { items, promise: 'items are where they are looked for', about: `customer/${customer.sk}` }
    },
    'a pending saga without its entry': () => {
      const saga = first('pending-saga')
      const items = without(saga)
      return { items, promise: 'nothing is pending forever', about: recordOf(saga).pk }
    },
    'an import without its entry': () => {
      const { id } = operation('pending', 'running')
      const items = without(first('pending-operation', ({ sk }) => sk === id))
      return { items, promise: 'nothing is pending forever', about: `operation/${id}` }
    },
    'a subscriber without its entry': () => {
      const { sk } = first('registered-subscriber')
      const items = without(first('registered-subscriber'))
      return { items, promise: 'nothing is pending forever', about: `subscriber/${sk}` }
    },
    'a list of tenants with subscribers that lacks one of them': () => {
      const list = { ...subscribedTenantsKey, tenants: ['another'], version: 99 }
      const items = [...whole.filter(({ pk }) => pk !== list.pk), list]
      const about = `subscriber/${first('subscriber').sk}`
      return { items, promise: 'subscribers get their events', about }
    },
    'a count of operations in progress that is too high': () => {
      const count = first('operation_count')
      const items = changed(count, { in_progress: Number(count.in_progress) + 1 })
      return { items, promise: 'counts are exact', about: 'operation_count' }
    },
    'a legal hold that is not counted': () => {
      const count = first('legal_hold', ({ holds }) => holds !== undefined)
      return { items: changed(count, { holds: 0 }), promise: 'counts are exact', about: 'legal_hold' }
    },
    'an import that counts a chunk twice': () => {
      const ended = operation('succeeded')
      const items = changed(ended, { chunks_done: Number(ended.chunks_total) + 1 })
      return { items, promise: 'each row counts once', about: `operation/${ended.sk}` }
    },
    'an import that reports other rows than it has counted': () => {
      const ended = operation('succeeded')
      const items = changed(ended, { rows_succeeded: Number(ended.rows_succeeded) + 1 })
      return { items, promise: 'each row counts once', about: `operation/${ended.sk}` }
    },
  }

describe('verify --data', () => {
  test('finds nothing in what the service has stored, while sagas and imports are pending', async () => {
    expect(whole.map(kindOf)).toEqual(expect.arrayContaining(['pending-saga', 'pending-operation']))
    expect(await violationsIn(whole)).toEqual([])
  })

  test.each(Object.entries(planted))('finds %s', async (_, plant) => {
    const { items, promise, about, settings } = plant()
    const found = await violationsIn(items, settings ? { settings } : {})
    expect(found.map((one) => [one.promise, one.about])).toContainEqual([promise, about])
    // Facts that are read in parts give the same.
    const inParts = await violationsIn(items, { most: 20, ...(settings && { settings }) })
    const sorted = (all: Violation[]) => all.map((one) => JSON.stringify(one)).toSorted()
    expect(sorted(inParts)).toEqual(sorted(found))
  })

  test('shows no text of a code and no personal data', async () => {
    const shown = whole.filter((item) => ['code', 'customer', 'mail', 'session'].includes(kindOf(item)))
    const texts = shown.flatMap(({ code, email, name }) => [code, email, name])
    const secrets = texts.filter((one) => typeof one === 'string')
    expect(secrets.length).toBeGreaterThan(10)
    for (const plant of Object.values(planted)) {
      const { items, settings } = plant()
      const found = JSON.stringify(await violationsIn(items, settings ? { settings } : {}))
      expect(secrets.filter((secret) => found.includes(secret))).toEqual([])
    }
  })

  test('says nothing about what has changed just before, if transactions may be in it in part', async () => {
    const refund = paidRefund()
    const items = without(first('ledger', ({ refund_id }) => refund_id === refund.id))
    const now = Date.parse(String(refund.updated_at)) + 5000
    expect(await violationsIn(items, { isWhole: false, at: now })).toEqual([])
    const later = await violationsIn(items, { isWhole: false, at: now + 60_000 })
    expect(later.map(({ promise }) => promise)).toEqual(['the ledger is the paid and reversed refunds'])
  })

  test.each([
    ['order', 'order_cart', 'a cart finds its orders'],
    ['code', 'code_lock', 'a text belongs to one code'],
  ] as const)(
    'says nothing about the entry of an %s that was made just before, and is not in it',
    async (entity, kind, promise) => {
      const now = at + 3_600_000
      const id = firstIdAt(now - 5000)
      const entry = { order_cart: `hash#${id}`, code_lock: 'NEW' }[kind]
      const items = and({ ...keyOf('acme', kind, entry), ...(kind === 'code_lock' && { code_id: id }) })
      const found = async (at: number) => {
        const violations = await violationsIn(items, { isWhole: false, at })
        return violations.filter(({ about }) => about === `${entity}/${id}`)
      }
      expect(await found(now)).toEqual([])
      expect(await found(now + 60_000)).toMatchObject([{ promise }])
    },
  )

  test('says nothing of the tenants with subscribers while the list is not known', async () => {
    const list = { ...subscribedTenantsKey, tenants: null, version: 99 }
    expect(await violationsIn([...whole.filter(({ pk }) => pk !== list.pk), list])).toEqual([])
  })

  test('says nothing about a tenant that is being purged', async () => {
    const lock = first('code_lock')
    const purge = { pk: `purge#${tenantOf(lock)}`, sk: 'purge' }
    expect(await violationsIn([...without(lock), purge])).toEqual([])
  })

  test('finds work that no sweep has looked at for a day, unless the table was restored since', async () => {
    const at = Date.parse(first('pending-saga').sk.slice(0, 24)) + 48 * 3_600_000
    const late = (await violationsIn(whole, { at })).map(({ about }) => about.split('/')[0])
    expect([...new Set(late)].toSorted()).toEqual(['pending-operation', 'pending-saga', 'unsettled-refund'])
    const restored = and({ ...restoredKey, at: at - 3_600_000 })
    expect(await violationsIn(restored, { at })).toEqual([])
  })

  test('accepts that the audit of a restored table tells of changes that are undone', async () => {
    const change = first('audit', ofAction('update', 'soft_delete', 'restore'))
    const undone = and({ ...change, sk: `${change.sk}x` })
    expect((await violationsIn(undone)).map(({ promise }) => promise)).toContain('all changes are audited')
    expect(await violationsIn([...undone, { ...restoredKey, at }])).toEqual([])
  })

  test('reads the table of a local run, and says how much it has read', async () => {
    const TableName = await createTable()
    const entry = { ...keyOf('acme', 'ledger', 'r1'), kind: 'payout', amount: 5, refund_id: 'r1' }
    const customer = keyOf('acme', 'customer', 'c1')
    for (const Item of [{ ...entry, at: '2026-01-31T12:00:00.000Z' }, customer])
      await documentClient().send(new PutCommand({ TableName, Item }))
    const stack = { outputs: { TableName }, access: accessOf(process.env.DYNAMODB_ENDPOINT ?? '') }
    const found: Violation[] = []
    const onViolation = (violation: Violation) => found.push(violation)
    const checked = await verifyData(stack, { settings: localSettings, onViolation })
    expect(checked).toMatchObject({ table: TableName, items: 2, violations: 1 })
    expect(found).toMatchObject([{ tenant: 'acme', about: 'refund/r1' }])
  })
})

describe('npx commerce verify --data', () => {
  const outputs = '<member><OutputKey>TableName</OutputKey><OutputValue>t</OutputValue></member>'
  const stacks = `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>s</StackName><Outputs>${outputs}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`

  /** Runs the command on a local AWS with these items. */
  async function runOn(items: readonly Item[], ...options: string[]) {
    const { url, stop } = await startHttpServer(async (request, response) => {
      const body = await text(request)
      if (body.includes('Action=DescribeStacks')) response.end(stacks)
      else response.end(JSON.stringify({ Items: items.map((item) => marshall(item)) }))
    })
    const command = ['bin/commerce.ts', 'verify', '--data', '--stack', 's', ...options]
    const child = spawn(process.execPath, command, {
      cwd: join(import.meta.dirname, '../..'),
      env: {
        ...process.env,
        ...compileCache,
        ...{ AWS_ENDPOINT_URL: url, AWS_REGION: 'eu-west-1' },
        ...{ AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' },
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const printed = Promise.all([text(child.stdout), text(child.stderr)])
    const [code] = await once(child, 'close')
    await stop()
    const [lines, errors] = await printed
    return {
      code,
      errors,
      records: lines
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line)),
    }
  }
  const settings = ['--settings', 'shared/settings/profiles/local.json']
  const customer = { ...keyOf('acme', 'customer', 'c1'), tenant_id: 'acme' }

  test('exits with 0 if nothing is wrong, and says what it has read', async () => {
    const { code, records } = await runOn([customer], ...settings)
    expect([code, records]).toEqual([0, [expect.objectContaining({ table: 't', items: 1, violations: 0 })]])
  })

  test('prints each violation, and exits with 1', async () => {
    const { code, records } = await runOn([{ ...customer, tenant_id: 'other' }], ...settings)
    expect(code).toBe(1)
    expect(records).toEqual([
      { promise: 'tenants are separate', tenant: 'acme', about: 'customer/c1', found: expect.anything() },
      expect.objectContaining({ items: 1, violations: 1 }),
    ])
  })

  test('needs the profile of the stack', async () => {
    const { code, errors } = await runOn([customer])
    expect([code, errors]).toEqual([2, expect.stringContaining('codes.types')])
  })
})
