import {
  type AttributeValue,
  CreateTableCommand,
  DeleteTableCommand,
  PutItemCommand,
  QueryCommand,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { startDynamodbProxy } from '#test/faults/dynamodb-proxy.ts'
import { capacityOf } from './capacity.ts'
import { testClient } from './dynamodb-client.ts'

const TableName = `capacity-${crypto.randomUUID()}`
const ReturnConsumedCapacity = 'TOTAL'
let count = 0

type Item = Record<string, AttributeValue>

const item = (attributes: Item = {}): Item => ({ pk: { S: `item-${count++}` }, ...attributes })
const text = (length: number): Item => ({ text: { S: 'x'.repeat(length) } })
const transact = (...items: Item[]) =>
  client.send(
    new TransactWriteItemsCommand({
      ReturnConsumedCapacity,
      TransactItems: items.map((Item) => ({ Put: { TableName, Item } })),
    }),
  )

const proxy = await startDynamodbProxy(process.env.DYNAMODB_ENDPOINT ?? '')
const client = testClient(proxy.endpoint)
beforeAll(async () => {
  await client.send(
    new CreateTableCommand({
      TableName,
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      AttributeDefinitions: ['pk', 'gk'].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
      BillingMode: 'PAY_PER_REQUEST',
      GlobalSecondaryIndexes: [
        {
          IndexName: 'by-gk',
          KeySchema: [{ AttributeName: 'gk', KeyType: 'HASH' }],
          Projection: { ProjectionType: 'KEYS_ONLY' },
        },
      ],
    }),
  )
  proxy.reset()
})
afterEach(() => proxy.reset())
afterAll(async () => {
  await client.send(new DeleteTableCommand({ TableName }))
  client.destroy()
  await proxy.stop()
})

test('reads and writes are counted separately, and a call without reported units is unmeasured', async () => {
  const stored = item(text(1500))
  await client.send(new PutItemCommand({ TableName, ReturnConsumedCapacity, Item: stored }))
  await client.send(new PutItemCommand({ TableName, Item: item() }))
  await client.send(
    new QueryCommand({
      TableName,
      ReturnConsumedCapacity,
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': stored.pk ?? { NULL: true } },
      ConsistentRead: true,
    }),
  )
  expect(capacityOf(proxy.calls)).toEqual({ requests: 3, readUnits: 1, writeUnits: 2, unmeasured: 1 })
})

test('every item of a transaction counts, also those with equal cost', async () => {
  await transact(item(), item(text(2500)), item(), item({ gk: { S: 'a' } }), item({ gk: { S: 'b' } }))
  expect(capacityOf(proxy.calls, ['gk']).writeUnits).toBe(2 + 6 + 2 + 4 + 4)
})

const shapes: [string, Item][] = [
  ['a small item', {}],
  ['an item in an index', { gk: { S: 'a' } }],
  ['text just within a unit', text(1000)],
  ['text past a unit', text(1100)],
  ['text of two bytes a letter', { text: { S: 'é'.repeat(600) } }],
  ['bytes', { bytes: { B: new Uint8Array(1100) } }],
  ['lists', { list: { L: Array.from({ length: 300 }, () => ({ S: 'abcd' })) } }],
  ['maps', { map: { M: { inner: { M: text(1500) }, flag: { BOOL: true }, none: { NULL: true } } } }],
  ['numbers', { list: { L: Array.from({ length: 500 }, () => ({ N: '123456' })) } }],
]

test.each(shapes)('the size of %s equals that of DynamoDB Local', async (_, attributes) => {
  await transact(item(attributes))
  const local = proxy.calls[0]?.consumed[0]?.CapacityUnits
  const [call] = proxy.calls.map((recorded) => ({ ...recorded, consumed: [{ CapacityUnits: 0 }] }))
  expect(call && capacityOf([call], ['gk']).writeUnits).toBe(local)
})
