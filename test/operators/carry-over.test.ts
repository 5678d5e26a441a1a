import { DynamoDBDocumentClient, PutCommand, ScanCommand } from '@aws-sdk/lib-dynamodb'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { assertRestoredFrom, carryOver, carryOverOf } from '#bin/commands/carry-over/carry-over.ts'
import { releaseHold, setHold } from '#bin/commands/legal-holds.ts'
import type { Operator } from '#bin/commands/tenant-records.ts'
import { deleteTenant } from '#bin/commands/tenants/purge-tenant.ts'
import { firstIdAt, systemClock } from '#shared/platform/base/clock.ts'
import { blockedTenantsKey } from '#shared/platform/identity/blocked-tenants.ts'
import { type Entity, type Item, keyOf } from '#shared/platform/table/keys.ts'
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
    carried = await carryOver({ client, source, target, from })
  })

  test('are those of all tenants since the minute of the time, and nothing else', async () => {
    expect(keysOf(await itemsOf(target))).toEqual(keysOf([...late, summed]))
  })

  test('are counted', () => {
    expect(carried).toMatchObject({ audit: late.length + 1, holds: 0, released: 0 })
  })

  test('replace the older state of a record that sums denials', async () => {
    expect(await itemsOf(target)).toContainEqual(summed)
  })

  test('are the same if it is repeated', async () => {
    expect(await carryOver({ client, source, target, from })).toEqual(carried)
    expect(keysOf(await itemsOf(target))).toEqual(keysOf([...late, summed]))
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
  await carryOver({ client, source, target, from })
  expect(await itemsOf(target)).toEqual([blocked])
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
      await setHold(one, hold('released', 'tenant'))
      await setHold(one, hold('acme', 'tenant'))
      await setHold(one, hold('purged', 'tenant'))
    }
    await releaseHold(source, hold('released', 'tenant'))
    await releaseHold(source, hold('acme', 'tenant'))
    await releaseHold(source, hold('purged', 'tenant'))
    await deleteTenant(source, 'purged', { withAudit: true })
    await setHold(source, hold('acme', `order/${order.sk}`))
    await setHold(source, hold('later', 'tenant'))
    carried = await carryOver({ client, source: sourceName, target: targetName, from: new Date() })
    const holdsOf = async (name: string) =>
      (await itemsOf(name)).filter(({ pk }) => pk.startsWith('legal_hold#'))
    tables = { source: await holdsOf(sourceName), target: await holdsOf(targetName) }
  })

  const operatorOf = (name: string): Operator => ({
    table: openTable(name),
    clock: systemClock,
    name: 'jane',
  })
  const purge = (tenant: string) => deleteTenant(target, tenant, { withAudit: false })

  test('are those that stand now, with their numbers', () => {
    const sorted = (items: Item[]) => items.toSorted((a, b) => (a.pk + a.sk < b.pk + b.sk ? -1 : 1))
    expect(sorted(tables.target)).toEqual(sorted(tables.source))
  })

  test('are counted, as are those that were released', () => {
    expect(carried).toMatchObject({ holds: 2, released: 3 })
  })

  test('refuse a purge if they were set later', async () => {
    await expect(purge('later')).rejects.toThrow('under legal hold')
  })

  test('refuse no purge once they were released', async () => {
    expect(await purge('released')).toMatchObject({ order: 0 })
  })

  test('refuse no purge of a tenant that was purged after their release', async () => {
    expect(await purge('purged')).toMatchObject({ order: 0 })
  })
})
