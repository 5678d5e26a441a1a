import { DynamoDBDocumentClient, PutCommand, ScanCommand } from '@aws-sdk/lib-dynamodb'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { copyAudit } from '#bin/commands/copy-audit.ts'
import { firstIdAt } from '#shared/platform/base/clock.ts'
import { type Entity, type Item, keyOf } from '#shared/platform/table/keys.ts'
import { testClient } from '#test/support/dynamodb-client.ts'
import { createTable } from '#test/support/tables.ts'

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

let source: string
let target: string
let copied: number
const itemsOf = async (TableName: string) => {
  const { Items = [] } = await client.send(new ScanCommand({ TableName, ConsistentRead: true }))
  return Items
}
const keysOf = (items: object[]) => items.map((item) => (item as Item).pk + (item as Item).sk).sort()

beforeAll(async () => {
  source = await createTable()
  target = await createTable()
  for (const Item of [...late, summed, early, order])
    await client.send(new PutCommand({ TableName: source, Item }))
  // The restored table has the record of the minute as it was at the time of the restore.
  await client.send(new PutCommand({ TableName: target, Item: { ...summed, count: 1 } }))
  copied = await copyAudit({ client, source, target, from })
})

describe('a copy of audit records', () => {
  test('holds the records of all tenants since the minute of the time, and nothing else', async () => {
    expect(keysOf(await itemsOf(target))).toEqual(keysOf([...late, summed]))
  })

  test('reports how many records it copied', () => {
    expect(copied).toBe(late.length + 1)
  })

  test('replaces the older state of a record that sums denials', async () => {
    expect(await itemsOf(target)).toContainEqual(summed)
  })

  test('can be repeated', async () => {
    expect(await copyAudit({ client, source, target, from })).toBe(copied)
    expect(keysOf(await itemsOf(target))).toEqual(keysOf([...late, summed]))
  })
})
