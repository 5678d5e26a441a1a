import type { TableDescription } from '@aws-sdk/client-dynamodb'
import { BatchWriteCommand, DynamoDBDocumentClient, PutCommand, ScanCommand } from '@aws-sdk/lib-dynamodb'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { createApiKey, revokeApiKey, rotateApiKey } from '#bin/commands/api-keys/api-keys.ts'
import { liftHold, setHold } from '#bin/commands/holds/legal-holds.ts'
import { assertRestoredFrom, carryOver, carryOverOf } from '#bin/commands/restore/carry-over.ts'
import type { Operator } from '#bin/commands/stack/operator-audit.ts'
import { blockTenant, unblockTenant } from '#bin/commands/tenants/block-tenant.ts'
import { connectAccount } from '#bin/commands/tenants/connect-account.ts'
import { eraseOrder } from '#bin/commands/tenants/erase-order.ts'
import { deleteTenant, progressKey } from '#bin/commands/tenants/purge-tenant.ts'
import { cartEntryKey } from '#shared/orders/order.ts'
import { firstIdAt, systemClock } from '#shared/platform/base/clock.ts'
import { blockedTenantsKey } from '#shared/platform/identity/blocked-tenants.ts'
import { type Entity, type Item, type Key, keyOf, pendingKeyOf } from '#shared/platform/table/keys.ts'
import { restoredKey } from '#shared/platform/table/restored.ts'
import { accountsOf, ownerOfAccount, readCurrent } from '#shared/refunds/accounts.ts'
import { positionKey } from '#shared/refunds/reconcile-daily.ts'
import { readSubscribedTenants, subscribedTenantsKey } from '#shared/subscribers/subscribed-tenants.ts'
import { testClient } from '#test/support/dynamodb-client.ts'
import { accessOf } from '#test/support/fake-aws.ts'
import { naming } from '#test/support/naming.ts'
import { createTable, openTable } from '#test/support/tables.ts'

const client = DynamoDBDocumentClient.from(testClient())
const from = new Date('2026-01-31T12:00:30.500Z')
const itemAt = (entity: Entity, time: string, tenant = 'acme'): Item => ({
  ...keyOf(tenant, entity, firstIdAt(Date.parse(time))),
  count: 2,
})
const late = Array.from({ length: 60 }, (_, n) =>
  itemAt('audit', new Date(from.getTime() + n).toISOString(), `tenant-${n % 7}`),
)
const summed = itemAt('audit', '2026-01-31T12:00:00Z')
const early = itemAt('audit', '2026-01-31T11:59:59.999Z')
const order = itemAt('order', '2026-01-31T12:01:00Z')

const itemsOf = async (TableName: string) => {
  const { Items = [] } = await client.send(new ScanCommand({ TableName, ConsistentRead: true }))
  return Items as Item[]
}
const operatorOf = (name: string): Operator => ({ table: openTable(name), clock: systemClock, name: 'jane' })
const carry = (source: string, target: string, since = from) =>
  carryOver({ client, source, target, operator: operatorOf(target), from: since })
/** Returns the items but for the mark of a restored table, and the list that is made unknown. */
const dataOf = async (table: string) =>
  (await itemsOf(table)).filter(({ pk }) => pk !== restoredKey.pk && pk !== subscribedTenantsKey.pk)
const cartEntryOf = (id: string) => cartEntryKey({ tenant_id: 'acme', cart_id: 'cart-1', id })
const keysOf = (items: object[]) => items.map((item) => (item as Item).pk + (item as Item).sk).sort()

describe('the audit records that are carried over', () => {
  let source: string
  let target: string
  let carried: Awaited<ReturnType<typeof carryOver>>
  beforeAll(async () => {
    source = await createTable()
    target = await createTable()
    for (const Item of [...late, summed, early, order])
      await client.send(new PutCommand({ TableName: source, Item }))
    // The restored table has the record of the minute as it was at the time of the restore.
    await client.send(new PutCommand({ TableName: target, Item: { ...summed, count: 1 } }))
    carried = await carry(source, target)
  })

  test('are those of all tenants since the minute of the time, and nothing else', async () => {
    expect(keysOf(await dataOf(target))).toEqual(keysOf([...late, summed]))
  })

  test('are counted', () => {
    expect(carried).toEqual([{ items: 'audit', copied: late.length + 1, removed: 0 }])
  })

  test('replace the older state of a record that sums denials', async () => {
    expect(await itemsOf(target)).toContainEqual(summed)
  })

  test('are the same if it is repeated', async () => {
    expect(await carry(source, target)).toEqual(carried)
    expect(keysOf(await dataOf(target))).toEqual(keysOf([...late, summed]))
  })
})

describe('the target of a carry-over', () => {
  const arn = 'arn:aws:dynamodb:eu-central-1:111122223333:table/commerce-staging'
  const stackTable = { TableName: 'commerce-staging', TableArn: arn }
  const otherArn = arn.replace('staging', 'prod')
  const carryOverTo = (target: string, TableName: string) => {
    const access = accessOf(process.env.DYNAMODB_ENDPOINT ?? '')
    return carryOverOf({ outputs: { TableName }, access }, { target, from })
  }
  const checked = (summary: object) => () =>
    assertRestoredFrom(stackTable, {
      TableName: 'commerce-prod',
      TableArn: otherArn,
      RestoreSummary: { RestoreDateTime: from, RestoreInProgress: false, ...summary },
    })

  test('keeps its items if it is a table that was not restored', async () => {
    const target = await createTable()
    const hold = { ...keyOf('acme', 'legal_hold', 'tenant'), target: 'tenant' }
    await client.send(new PutCommand({ TableName: target, Item: hold }))
    const refused = await carryOverTo(target, await createTable()).catch(({ message }) => message)
    expect(refused).toMatch(naming(`${target} … restored`))
    expect(await itemsOf(target)).toEqual([hold])
  })

  test('is not the table of the stack', async () => {
    const table = await createTable()
    await expect(carryOverTo(table, table)).rejects.toThrow(table)
  })

  test.each([
    ['a point in time of another table', { SourceTableArn: otherArn }],
    ['a backup of another table', { SourceBackupArn: `${arn}-2/backup/01` }],
  ])('is not restored from %s', (_, summary) => {
    expect(checked(summary)).toThrow('commerce-staging')
  })

  test.each([
    ['the table of the stack is gone', undefined],
    ['it is in another region', { ...stackTable, TableArn: arn.replace('eu-central-1', 'eu-west-1') }],
  ])('gets nothing if %s, and the command says what is lost', (_, source) => {
    const restored = { TableName: 'restored', TableArn: otherArn, RestoreSummary: { SourceTableArn: arn } }
    const check = () => assertRestoredFrom(source, restored as TableDescription)
    for (const lost of ['api key', 'legal hold', 'audit', 'subscriber', 'order', 'blocked tenants'])
      expect(check).toThrow(lost)
    for (const restored of ['customer', 'idempotency']) expect(check).not.toThrow(restored)
  })

  test.each([
    ['a point in time of the table', { SourceTableArn: arn }],
    ['a backup of the table', { SourceBackupArn: `${arn}/backup/01` }],
  ])('may be restored from %s of the stack', (_, summary) => {
    expect(checked(summary)).not.toThrow()
  })
})

test('the blocked tenants are carried over as they stand now', async () => {
  const source = await createTable()
  const target = await createTable()
  const blocked = { ...blockedTenantsKey, tenants: ['acme'], version: 2 }
  await client.send(new PutCommand({ TableName: source, Item: blocked }))
  await client.send(new PutCommand({ TableName: target, Item: { ...blocked, tenants: [], version: 1 } }))
  await carry(source, target)
  expect(await dataOf(target)).toEqual([blocked])
})

test('the list of tenants with subscribers is not known after it: an empty one would never be made again', async () => {
  const source = await createTable()
  const target = await createTable()
  const listed = { ...subscribedTenantsKey, tenants: [], version: 7 }
  for (const TableName of [source, target]) await client.send(new PutCommand({ TableName, Item: listed }))
  await carry(source, target)
  expect(await readSubscribedTenants(openTable(target))).toMatchObject({ tenants: null, version: 8 })
})

describe('an order that was erased', () => {
  const id = itemAt('order', '2026-01-31T11:00:00Z').sk
  const stored = { ...keyOf('acme', 'order', id), id, tenant_id: 'acme', version: 1, cart_id: 'cart-1' }
  const erasedAt = (time: string) => {
    const { cart_id: _, ...rest } = stored
    return { ...rest, version: 2, erased_at: time }
  }
  const tablesWith = async (tombstone: Item) => {
    const source = await createTable()
    const target = await createTable()
    await client.send(new PutCommand({ TableName: source, Item: tombstone }))
    for (const Item of [stored, cartEntryOf(id)])
      await client.send(new PutCommand({ TableName: target, Item: { ...Item } }))
    return { source, target }
  }

  test('is erased if the erasure began just before the time of the restore, and was committed after it', async () => {
    const tombstone = erasedAt(new Date(from.getTime() - 30_000).toISOString())
    const { source, target } = await tablesWith(tombstone)
    await carry(source, target)
    expect(await dataOf(target)).toEqual([tombstone])
  })

  test('loses the entry of its cart before a run may be interrupted', async () => {
    const tombstone = erasedAt(from.toISOString())
    const { source, target } = await tablesWith(tombstone)
    const interrupted = Object.create(client) as DynamoDBDocumentClient
    // A batch is written in part: the puts first.
    interrupted.send = (async (command: { input: object }) => {
      if (!(command instanceof BatchWriteCommand)) return client.send(command as never)
      const requests = command.input.RequestItems?.[target] ?? []
      const puts = requests.filter(({ PutRequest }) => PutRequest)
      if (puts.length === 0) return client.send(command)
      await client.send(new BatchWriteCommand({ RequestItems: { [target]: puts } }))
      throw new Error('interrupted')
    }) as DynamoDBDocumentClient['send']
    const operator = operatorOf(target)
    await expect(carryOver({ client: interrupted, source, target, operator, from })).rejects.toThrow(
      'interrupted',
    )
    await carry(source, target)
    expect(await dataOf(target)).toEqual([tombstone])
  })
})

describe('the legal holds that are carried over', () => {
  let target: Operator
  let carried: Awaited<ReturnType<typeof carryOver>>
  let tables: { source: Item[]; target: Item[] }

  beforeAll(async () => {
    const sourceName = await createTable()
    const targetName = await createTable()
    const source = operatorOf(sourceName)
    target = operatorOf(targetName)
    const hold = (tenant: string, target: string) => ({ tenant, target, reason: 'case 4711', force: true })
    // What stands at the time of the restore is in both tables.
    for (const one of [source, target]) {
      await one.table.put({ item: { ...order, id: order.sk, tenant_id: 'acme' }, condition: 'none' })
      await setHold(one, hold('lifted', 'tenant'))
      await setHold(one, hold('acme', 'tenant'))
      await setHold(one, hold('purged', 'tenant'))
    }
    await liftHold(source, hold('lifted', 'tenant'))
    await liftHold(source, hold('acme', 'tenant'))
    await liftHold(source, hold('purged', 'tenant'))
    await deleteTenant(source, 'purged', { withAudit: true })
    await setHold(source, hold('acme', `order/${order.sk}`))
    await setHold(source, hold('later', 'tenant'))
    carried = await carry(sourceName, targetName, new Date())
    const holdsOf = async (name: string) =>
      (await itemsOf(name)).filter(({ pk }) => pk.startsWith('legal_hold#'))
    tables = { source: await holdsOf(sourceName), target: await holdsOf(targetName) }
  })

  const purge = (tenant: string) => deleteTenant(target, tenant, { withAudit: false })

  test('are those that stand now, with their numbers', () => {
    const sorted = (items: Item[]) => items.toSorted((a, b) => (a.pk + a.sk < b.pk + b.sk ? -1 : 1))
    expect(sorted(tables.target)).toEqual(sorted(tables.source))
  })

  test('are counted, as are those that were lifted', () => {
    // The number of the holds of a tenant is an item, too.
    expect(carried).toContainEqual({ items: 'legal_hold', copied: 5, removed: 4 })
  })

  test('refuse a purge if they were set later', async () => {
    await expect(purge('later')).rejects.toThrow('under legal hold')
  })

  test('refuse no purge once they were lifted', async () => {
    expect(await purge('lifted')).toMatchObject({ order: 0 })
  })

  test('refuse no purge of a tenant that was purged after they were lifted', async () => {
    expect(await purge('purged')).toMatchObject({ order: 0 })
  })
})

describe('what people decided after the time of the restore', () => {
  const [order, kept, otherKept] = [0, 1, 2].map((n) => itemAt('order', `2026-01-31T11:00:0${n}Z`).sk) as [
    string,
    string,
    string,
  ]
  const acme = 'acme'
  let target: string
  let keys: Record<'revoked' | 'rotated' | 'rotation' | 'later' | 'active', string>
  let carried: Awaited<ReturnType<typeof carryOver>>
  let mark: Item | undefined

  beforeAll(async () => {
    const source = await createTable()
    target = await createTable()
    const [now, then] = [operatorOf(source), operatorOf(target)]
    const make = (name: string) => createApiKey(now, { tenant: acme, name, scopes: ['codes:read'] })
    const [revoked, rotated, active] = [await make('revoked'), await make('rotated'), await make('active')]
    const session = (id: string, state: string): Item => ({
      ...keyOf(acme, 'session', id),
      session_id: id,
      state,
    })
    const orderOf = (id: string, tenant = acme): Item => ({
      ...keyOf(tenant, 'order', id),
      ...{ id, tenant_id: tenant, version: 1, cart_id: 'cart-1' },
    })
    const sagaOf = (tenant: string): Item[] => {
      const record = { pk: `idempotency#saga-of-${tenant}`, sk: 'record' }
      const entry = pendingKeyOf('pending-saga', `2026-01-31T11:01:00.000Z#${order}`)
      return [record, { ...entry, sk: `${entry.sk}-${tenant}`, tenant, record }]
    }
    const before = [
      ...[orderOf(order), orderOf(kept), orderOf(otherKept, 'blocked'), orderOf(order, 'purged')],
      ...[orderOf(order, 'vanished'), session('ended', 'active'), session('running', 'active')],
      { pk: 'idempotency#1', sk: 'record', status: 201 },
      ...sagaOf('purged'),
      ...sagaOf(acme),
      { ...positionKey('purged', 'acct_1'), until: 1 },
      { ...positionKey(acme, 'acct_old'), until: 1 },
      { ...cartEntryOf(order) },
      { ...cartEntryOf(kept) },
    ]
    for (const item of before) await now.table.put({ item, condition: 'none' })
    await connectAccount(now, acme, 'acct_old')
    // The restored table has all of it.
    for (const item of await itemsOf(source)) await then.table.put({ item, condition: 'none' })

    await revokeApiKey(now, acme, revoked.key_id)
    const rotation = await rotateApiKey(now, { tenant: acme, id: rotated.key_id, overlapSeconds: 60 })
    const later = await make('later')
    await eraseOrder(now, acme, order)
    await connectAccount(now, acme, 'acct_new')
    for (const item of [session('ended', 'revoked'), session('begun', 'active'), orderOf('later')])
      await now.table.put({ item, condition: 'none' })
    await now.table.put({ item: { pk: 'idempotency#2', sk: 'record', status: 201 }, condition: 'none' })
    for (const tenant of ['blocked', 'purged', 'vanished']) await blockTenant(now, tenant)
    await deleteTenant(now, 'purged', { withAudit: false })
    await deleteTenant(now, 'vanished', { withAudit: true })

    keys = {
      ...{ revoked: revoked.key_id, rotated: rotated.key_id, active: active.key_id },
      ...{ rotation: rotation.key_id, later: later.key_id },
    }
    carried = await carry(source, target, new Date('2026-02-01T00:00:00Z'))
    mark = await then.table.get(restoredKey)
  })

  const found = async (key: Key): Promise<Partial<Item>> => (await openTable(target).get(key)) ?? {}
  const stateOf = async (id: string) => (await found(keyOf(acme, 'api_key', id))).state

  test('revokes the keys that were revoked', async () => {
    expect(await stateOf(keys.revoked)).toBe('revoked')
  })

  test('keeps the keys that were created and rotated', async () => {
    expect([await stateOf(keys.active), await stateOf(keys.later), await stateOf(keys.rotation)]).toEqual([
      'active',
      'active',
      'active',
    ])
    expect(await stateOf(keys.rotated)).toBe('ending')
  })

  test('ends the sessions that were ended, and keeps those that began', async () => {
    const sessions = (await itemsOf(target)).filter(({ pk }) => pk.startsWith('session#'))
    expect(Object.fromEntries(sessions.map(({ sk, state }) => [sk, state]))).toEqual({
      ended: 'revoked',
      running: 'active',
      begun: 'active',
    })
  })

  test('connects the account that was connected, and disconnects the one before', async () => {
    const { table } = operatorOf(target)
    expect((await readCurrent(table, acme)).account).toBe('acct_new')
    expect(await accountsOf(table, acme)).toMatchObject([
      { account: 'acct_new' },
      { account: 'acct_old', disconnected_at: expect.any(String) },
    ])
    expect(await ownerOfAccount(table, 'acct_new')).toBe(acme)
  })

  test('erases the orders that were erased', async () => {
    const erased = await found(keyOf(acme, 'order', order))
    expect(erased).toMatchObject({ id: order, version: 2, erased_at: expect.any(String) })
    expect(JSON.stringify(erased)).not.toContain('cart-1')
    expect(await found(cartEntryOf(order))).toEqual({})
    expect(await found(cartEntryOf(kept))).toMatchObject(cartEntryOf(kept))
  })

  test('leaves other orders as they were', async () => {
    expect(await found(keyOf(acme, 'order', kept))).toMatchObject({ version: 1, cart_id: 'cart-1' })
    expect(await found(keyOf(acme, 'order', 'later'))).toEqual({})
  })

  test('copies no idempotency record: it would answer 201 for an order that is gone', async () => {
    const records = (await itemsOf(target)).filter(({ pk }) => pk.startsWith('idempotency#'))
    expect(records.map(({ pk }) => pk).sort()).toEqual(['idempotency#1', 'idempotency#saga-of-acme'])
  })

  test('deletes the tenants that were purged, and keeps one that is only blocked', async () => {
    const tenants = (await itemsOf(target))
      .filter(({ pk }) => pk.startsWith('order#'))
      .map(({ pk }) => pk.split('#')[1])
    expect(new Set(tenants)).toEqual(new Set([acme, 'blocked']))
    expect(carried).toContainEqual({ items: 'tenant purged', copied: 0, removed: 4 })
  })

  test('ends the sagas of the tenants that were purged, and keeps others', async () => {
    const sagas = (await itemsOf(target)).filter(({ pk }) => pk.startsWith('pending-saga#'))
    expect(sagas.map(({ tenant }) => tenant)).toEqual([acme])
  })

  test('deletes the positions of the daily comparison of the tenants that were purged, and keeps others', async () => {
    expect(await found(positionKey('purged', 'acct_1'))).toEqual({})
    expect(await found(positionKey(acme, 'acct_old'))).toMatchObject({ until: 1 })
  })

  test('deletes the audit of a tenant that was purged with it', async () => {
    const audits = (await itemsOf(target)).filter(({ pk }) => pk.startsWith('audit#'))
    const tenants = new Set(audits.map(({ tenant_id }) => tenant_id))
    expect(tenants).toEqual(new Set([acme, 'blocked', 'purged']))
  })

  test('comes with the mark of a restored table', () => {
    expect(mark?.at).toBeGreaterThan(Date.now() - 600_000)
    expect(mark?.at).toBeLessThanOrEqual(Date.now())
  })
})

describe('a tenant whose name was given away after the purge', () => {
  const [restored, erased] = [0, 1].map((n) => itemAt('order', `2026-01-31T11:00:0${n}Z`).sk) as [
    string,
    string,
  ]
  const orderOf = (id: string): Item => ({
    ...keyOf('reused', 'order', id),
    ...{ id, tenant_id: 'reused', version: 1, cart_id: 'cart-1' },
  })
  const cart: Item = { ...keyOf('reused', 'cart', 'cart-1'), cart_id: 'cart-1' }
  /** Purges in the source what both tables have, and gives the name to another owner. */
  const tablesAfterPurge = async () => {
    const source = await createTable()
    const target = await createTable()
    const now = operatorOf(source)
    for (const { table } of [now, operatorOf(target)])
      for (const item of [orderOf(restored), cart]) await table.put({ item, condition: 'none' })
    await blockTenant(now, 'reused')
    await deleteTenant(now, 'reused', { withAudit: false })
    await unblockTenant(now, 'reused')
    const key = await createApiKey(now, { tenant: 'reused', name: 'new', scopes: ['codes:read'] })
    const delivery = { ...keyOf('reused', 'delivery', firstIdAt(Date.now())) }
    for (const item of [cart, orderOf(erased), delivery]) await now.table.put({ item, condition: 'none' })
    await eraseOrder(now, 'reused', erased)
    return {
      source,
      target,
      kept: [keyOf('reused', 'api_key', key.key_id), keyOf('reused', 'order', erased), delivery],
    }
  }
  const keptIn = async (target: string) =>
    keysOf((await itemsOf(target)).filter(({ pk }) => pk.includes('#reused#') && !pk.startsWith('audit#')))

  test('has nothing of its old owner, and what is carried over of the new one', async () => {
    const { source, target, kept } = await tablesAfterPurge()
    await carry(source, target)
    expect(await keptIn(target)).toEqual(keysOf(kept))
  })

  test('has no purge in progress if its purge had begun at the time of the restore', async () => {
    const { source, target } = await tablesAfterPurge()
    const { table } = operatorOf(target)
    await table.put({ item: { ...progressKey('reused') }, condition: 'none' })
    await carry(source, target)
    expect(await table.get(progressKey('reused'))).toBeUndefined()
  })

  test('has the data of a new owner who came before the time of the restore', async () => {
    const { source, target } = await tablesAfterPurge()
    await carry(source, target, new Date())
    expect(await keptIn(target)).toEqual(expect.arrayContaining(keysOf([cart, orderOf(restored)])))
  })
})
