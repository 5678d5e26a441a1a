import {
  type AttributeValue,
  type CancellationReason,
  ConditionalCheckFailedException,
  type DynamoDBClient,
  TransactionCanceledException,
} from '@aws-sdk/client-dynamodb'
import { marshall } from '@aws-sdk/util-dynamodb'
import { beforeEach, describe, expect, test } from '@jest/globals'
import { dynamodbTable } from '#shared/platform/aws/dynamodb-table.ts'
import { startBudget } from '#shared/platform/base/clock.ts'
import type { Item, Key } from '#shared/platform/table/keys.ts'
import type { Change, Table, TableAccess } from '#shared/platform/table/table.ts'
import { type MovableClock, movableClock } from '#test/support/clocks.ts'

interface Sent {
  command: string
  input: Record<string, never> & { TransactItems?: Record<string, object>[]; ClientRequestToken?: string }
  milliseconds: number
}

const key = { pk: 'order#acme#0', sk: '1' }
const item: Item = { ...key, amount: 5 }
const name = 'orders'

let sent: Sent[]
/** The responses of the next calls, in order; errors are thrown. Later calls return nothing. */
let responses: object[]
let clock: MovableClock
let table: Table
let openTable: (access?: Partial<TableAccess>) => Table
beforeEach(() => {
  sent = []
  responses = []
  clock = movableClock()
  const client = {
    async send(command: { input: never; milliseconds: number }) {
      sent.push({
        command: command.constructor.name,
        input: command.input,
        milliseconds: command.milliseconds,
      })
      const response = responses.shift() ?? {}
      if (response instanceof Error) throw response
      return response
    },
  } as unknown as DynamoDBClient
  openTable = (access) =>
    dynamodbTable(client, name, { clock, budget: startBudget(clock, 10_000), ...access })
  table = openTable()
})
const errorOf = (errorName: string, members: object = {}) =>
  Object.assign(new Error(errorName), { name: errorName, ...members })
type Members = { Item?: Record<string, AttributeValue> }
const failedCheck = (members: Members) =>
  new ConditionalCheckFailedException({ message: 'failed', $metadata: {}, ...members })
const canceled = (CancellationReasons?: CancellationReason[]) =>
  new TransactionCanceledException({ message: 'canceled', $metadata: {}, CancellationReasons })
const inputs = () => sent.map(({ input }) => input)

describe('the units of a unit of work', () => {
  test('are those that DynamoDB reports for each call, of reads and of writes', async () => {
    const units = { read: 0, write: 0 }
    const counting = openTable({ units })
    responses = [
      { ConsumedCapacity: { CapacityUnits: 1 } },
      { ConsumedCapacity: [{ CapacityUnits: 0.5 }, { CapacityUnits: 2 }] },
      { ConsumedCapacity: { CapacityUnits: 3 } },
      { ConsumedCapacity: [{ CapacityUnits: 10 }] },
      canceled([{ Code: 'ConditionalCheckFailed' }]),
    ]
    await counting.get(key)
    await counting.getMany([key])
    await counting.put({ item, condition: 'none' })
    await counting.transact([{ item, condition: { absent: true } }])
    await counting.transact([{ item, condition: { absent: true } }])
    expect(units).toEqual({ read: 3.5, write: 13 })
    for (const input of inputs()) expect(input).toMatchObject({ ReturnConsumedCapacity: 'TOTAL' })
  })

  test('are not asked for where nobody counts them', async () => {
    await table.get(key)
    expect(inputs()[0]).not.toHaveProperty('ReturnConsumedCapacity')
  })
})

describe('a read by key', () => {
  test('is consistent, and limited in time', async () => {
    responses = [{ Item: marshall(item) }]
    expect(await table.get(key)).toEqual(item)
    expect(sent).toEqual([
      {
        command: 'GetItemCommand',
        input: { TableName: name, Key: marshall(key), ConsistentRead: true },
        milliseconds: 3000,
      },
    ])
  })

  test('of an absent item is undefined', async () => {
    expect(await table.get(key)).toBeUndefined()
  })
})

describe('a read of a range', () => {
  const range = { partition: key.pk, low: 'a', high: 'b', descending: false, limit: 7 }

  test('is a consistent query with both ends', async () => {
    responses = [{ Items: [marshall(item)], LastEvaluatedKey: marshall(key) }]
    expect(await table.readRange(range)).toEqual({ items: [item], exhausted: false })
    expect(inputs()).toEqual([
      {
        TableName: name,
        KeyConditionExpression: 'pk = :partition AND sk BETWEEN :low AND :high',
        ExpressionAttributeValues: marshall({ ':partition': key.pk, ':low': 'a', ':high': 'b' }),
        ScanIndexForward: true,
        ConsistentRead: true,
        Limit: 7,
      },
    ])
  })

  test('may be descending', async () => {
    await table.readRange({ ...range, descending: true })
    expect(inputs()).toMatchObject([{ ScanIndexForward: false }])
  })

  test('is exhausted without a last key', async () => {
    expect(await table.readRange(range)).toEqual({ items: [], exhausted: true })
  })

  test('of one key is a query', async () => {
    await table.readRange({ ...range, high: 'a' })
    expect(sent).toHaveLength(1)
  })

  test('that is empty calls nothing', async () => {
    expect(await table.readRange({ ...range, low: 'c' })).toEqual({ items: [], exhausted: true })
    expect(sent).toEqual([])
  })
})

describe('a search by id', () => {
  test('queries the index and picks the entity', async () => {
    const keys = [{ pk: 'refund#acme#0', sk: '1' }, key]
    responses = [{ Items: keys.map((one) => marshall({ ...one, id: '1' })) }]
    expect(await table.findById('order', '1')).toEqual(key)
    expect(inputs()).toEqual([
      {
        TableName: name,
        IndexName: 'by-id',
        KeyConditionExpression: 'id = :id',
        ExpressionAttributeValues: marshall({ ':id': '1' }),
      },
    ])
  })

  test('is undefined if nothing has the id', async () => {
    expect(await table.findById('order', '1')).toBeUndefined()
  })
})

describe('a read of many keys', () => {
  const keys = ['1', '2'].map((sk) => ({ pk: key.pk, sk }))

  test('is one consistent request', async () => {
    responses = [{ Responses: { [name]: keys.map((one) => marshall(one)) } }]
    expect(await table.getMany(keys)).toEqual(keys)
    expect(inputs()).toEqual([
      { RequestItems: { [name]: { Keys: keys.map((one) => marshall(one)), ConsistentRead: true } } },
    ])
  })

  test('asks again for what was left out, after a growing pause', async () => {
    clock.jitter = () => 0.5
    const left = { [name]: { Keys: [marshall(keys[1])] } }
    responses = [
      { Responses: { [name]: [marshall(keys[0])] }, UnprocessedKeys: left },
      { UnprocessedKeys: left },
      { Responses: { [name]: [marshall(keys[1])] }, UnprocessedKeys: {} },
    ]
    const from = clock.now()
    expect(await table.getMany(keys)).toEqual(keys)
    expect(inputs().slice(1)).toMatchObject([
      { RequestItems: { [name]: { Keys: [marshall(keys[1])] } } },
      { RequestItems: { [name]: { Keys: [marshall(keys[1])] } } },
    ])
    expect(clock.now() - from).toBe(12.5 + 25)
  })

  test('ends after three requests in a row that read nothing', async () => {
    const left = (...some: Key[]) => ({
      UnprocessedKeys: { [name]: { Keys: some.map((one) => marshall(one)) } },
    })
    const one = { Responses: { [name]: keys.slice(0, 1).map((some) => marshall(some)) } }
    responses = [left(...keys), left(...keys), { ...one, ...left(...keys.slice(1)) }]
    responses.push(...Array(3).fill(left(...keys.slice(1))))
    await expect(table.getMany(keys)).rejects.toMatchObject({ code: 'DEPENDENCY.unavailable' })
    expect(sent).toHaveLength(6)
  })

  test('does not pause before the first request', async () => {
    clock.jitter = () => 0.5
    const from = clock.now()
    await table.getMany(keys)
    expect(clock.now()).toBe(from)
  })

  test('of no keys calls nothing', async () => {
    expect(await table.getMany([])).toEqual([])
    expect(sent).toEqual([])
  })
})

describe('a put', () => {
  test('leaves out undefined attributes', async () => {
    await table.put({ item: { ...item, color: undefined }, condition: 'none' })
    expect(inputs()).toEqual([
      { TableName: name, Item: marshall(item), ReturnValuesOnConditionCheckFailure: 'ALL_OLD' },
    ])
  })

  test('returns nothing if it succeeds', async () => {
    expect(await table.put({ item, condition: 'none' })).toBeUndefined()
  })

  test.each<[string, Members, Item | undefined]>([
    ['the existing item', { Item: marshall(item) }, item],
    ['that there is none', {}, undefined],
  ])('whose condition fails returns %s', async (_, members, existing) => {
    responses = [failedCheck(members)]
    expect(await table.put({ item, condition: { absent: true } })).toEqual({ index: 0, existing })
  })

  test('fails with any other error', async () => {
    responses = [errorOf('ValidationException')]
    await expect(table.put({ item, condition: 'none' })).rejects.toThrow('ValidationException')
  })
})

describe('an update', () => {
  const append = { update: key, set: { at: 1 }, append: { times: [7, 8] }, condition: 'none' } as const

  test('appends to a list, which may be absent', async () => {
    expect(await table.update(append)).toBeUndefined()
    expect(sent).toMatchObject([
      {
        command: 'UpdateItemCommand',
        input: {
          TableName: name,
          Key: marshall(key),
          UpdateExpression: 'SET #n0 = :v0, #n1 = list_append(if_not_exists(#n1, :v1), :v2)',
          ExpressionAttributeNames: { '#n0': 'at', '#n1': 'times' },
          ExpressionAttributeValues: marshall({ ':v0': 1, ':v1': [], ':v2': [7, 8] }),
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        },
      },
    ])
  })

  test('returns the existing item if its condition fails', async () => {
    responses = [failedCheck({ Item: marshall(item) })]
    expect(await table.update(append)).toEqual({ index: 0, existing: item })
  })
})

describe('a transaction', () => {
  const common = { TableName: name, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' }
  const Key = marshall(key)
  const isInA = {
    ConditionExpression: '#n0 = :v0',
    ExpressionAttributeNames: { '#n0': 'state' },
    ExpressionAttributeValues: marshall({ ':v0': 'a' }),
  }
  const condition = { matches: { state: 'a' } }

  test.each<[string, Change, object]>([
    [
      'puts an item',
      { item, condition: { absent: true } },
      { Put: { ...common, Item: marshall(item), ConditionExpression: 'attribute_not_exists(pk)' } },
    ],
    ['removes an item', { remove: key, condition }, { Delete: { ...common, Key, ...isInA } }],
    [
      'removes an item whether or not it exists',
      { remove: key, condition: 'none' },
      { Delete: { ...common, Key } },
    ],
    [
      'checks an item that it does not change',
      { check: key, condition },
      { ConditionCheck: { ...common, Key, ...isInA } },
    ],
    [
      'updates an item',
      {
        update: key,
        set: { state: 'b' },
        copy: { before: 'state' },
        increment: ['version'],
        add: { total: 7 },
        condition,
      },
      {
        Update: {
          ...common,
          Key,
          ConditionExpression: '#n0 = :v0',
          UpdateExpression:
            'SET #n1 = :v1, #n2 = #n3, #n4 = if_not_exists(#n4, :v2) + :v3, #n5 = if_not_exists(#n5, :v4) + :v5',
          ExpressionAttributeNames: {
            ...{ '#n0': 'state', '#n1': 'state', '#n2': 'before' },
            ...{ '#n3': 'state', '#n4': 'version', '#n5': 'total' },
          },
          ExpressionAttributeValues: marshall({
            ...{ ':v0': 'a', ':v1': 'b', ':v2': 0 },
            ...{ ':v3': 1, ':v4': 0, ':v5': 7 },
          }),
        },
      },
    ],
    [
      'updates one attribute',
      { update: key, set: { state: 'b' }, condition: 'none' },
      {
        Update: {
          ...common,
          Key,
          UpdateExpression: 'SET #n0 = :v0',
          ExpressionAttributeNames: { '#n0': 'state' },
          ExpressionAttributeValues: marshall({ ':v0': 'b' }),
        },
      },
    ],
  ])('%s', async (_, change, part) => {
    await table.transact([change])
    expect(sent[0]?.input.TransactItems).toEqual([part])
  })

  test('has the same token in each attempt', async () => {
    responses = [errorOf('ThrottlingException')]
    expect(await table.transact([{ item, condition: 'none' }])).toBeUndefined()
    const [first, second] = inputs()
    expect(first?.ClientRequestToken).toMatch(/^[0-9a-f-]{36}$/)
    expect(second?.ClientRequestToken).toBe(first?.ClientRequestToken)
  })

  test.each<[string, Members, Item | undefined]>([
    ['the existing item', { Item: marshall(item) }, item],
    ['that there is none', {}, undefined],
  ])('returns the first change whose condition failed, and %s', async (_, members, existing) => {
    const CancellationReasons = [
      { Code: 'None' },
      { Code: 'ConditionalCheckFailed', ...members },
      { Code: 'ConditionalCheckFailed', Item: marshall({ ...item, sk: '9' }) },
    ]
    responses = [canceled(CancellationReasons)]
    expect(await table.transact([{ item, condition: 'none' }])).toEqual({ index: 1, existing })
  })

  test('returns that its first condition failed', async () => {
    const CancellationReasons = [{ Code: 'ConditionalCheckFailed' }, { Code: 'None' }]
    responses = [canceled(CancellationReasons)]
    expect(await table.transact([{ item, condition: 'none' }])).toEqual({ index: 0, existing: undefined })
  })

  test.each([
    ['is canceled for another reason', canceled([{}])],
    ['is canceled without reasons', canceled()],
    [
      'fails in another way',
      errorOf('ValidationException', { CancellationReasons: [{ Code: 'ConditionalCheckFailed' }] }),
    ],
  ])('that %s fails', async (_, error) => {
    responses = [error]
    await expect(table.transact([{ item, condition: 'none' }])).rejects.toBe(error)
  })
})

describe('an insert of many items', () => {
  const items = ['1', '2', '3'].map((sk) => ({ pk: key.pk, sk, color: undefined }))
  const failed = (Code: string) => ({ Error: { Code } })

  test('never overwrites an item', async () => {
    expect(await table.insertMany(items.slice(0, 1))).toEqual([])
    expect(sent).toMatchObject([
      {
        command: 'BatchExecuteStatementCommand',
        input: {
          Statements: [
            {
              Statement: `INSERT INTO "orders" VALUE {'pk': ?, 'sk': ?}`,
              Parameters: [{ S: key.pk }, { S: '1' }],
            },
          ],
        },
      },
    ])
  })

  test('returns the items that exist already', async () => {
    responses = [{ Responses: [{}, failed('DuplicateItem'), {}] }]
    expect(await table.insertMany(items)).toEqual([items[1]])
    expect(sent).toHaveLength(1)
  })

  test.each([
    'ThrottlingError',
    'ProvisionedThroughputExceeded',
    'RequestLimitExceeded',
    'InternalServerError',
    'TransactionConflict',
  ])('repeats the items that met %s, after a growing pause', async (code) => {
    clock.jitter = () => 0.5
    responses = [
      { Responses: [{}, failed(code), failed('DuplicateItem')] },
      { Responses: [failed(code)] },
      { Responses: [failed('DuplicateItem')] },
    ]
    const from = clock.now()
    expect(await table.insertMany(items)).toEqual([items[2], items[1]])
    expect(sent.map(({ input }) => (input as { Statements?: object[] }).Statements?.length)).toEqual([
      3, 1, 1,
    ])
    expect(clock.now() - from).toBe(12.5 + 25)
  })

  test.each([['ValidationError'], [undefined]])('fails with any other error (%s)', async (Code) => {
    responses = [{ Responses: [{}, { Error: { Code } }] }]
    await expect(table.insertMany(items)).rejects.toThrow(`an item could not be inserted: ${Code}`)
  })

  test('of no items calls nothing', async () => {
    expect(await table.insertMany([])).toEqual([])
    expect(sent).toEqual([])
  })
})

describe('a partition that throttles', () => {
  const inPartition = (pk: string) => ({ pk, sk: '1' })
  const range = (partition: string) => ({ partition, low: 'a', high: 'b', descending: false, limit: 7 })
  const reads = {
    get: (pk) => table.get(inPartition(pk)),
    getMany: (pk) => table.getMany([inPartition(pk)]),
    readRange: (pk) => table.readRange(range(pk)),
  } satisfies Record<string, (pk: string) => Promise<unknown>>
  const writes = {
    put: (pk) => table.put({ item: inPartition(pk), condition: 'none' }),
    update: (pk) => table.update({ update: inPartition(pk), set: { at: 1 }, condition: 'none' }),
    transact: (pk) => table.transact([{ remove: inPartition(pk), condition: 'none' }]),
    insertMany: (pk) => table.insertMany([inPartition(pk)]),
  } satisfies Record<string, (pk: string) => Promise<unknown>>
  const all = { ...reads, ...writes }

  /** The number of requests of a call right after a partition throttled another. */
  async function sentAfter(throttled: Promise<unknown>, call: () => Promise<unknown>): Promise<number> {
    await throttled.catch(() => {})
    sent = []
    await call().catch(() => {})
    return sent.length
  }

  beforeEach(() => {
    table = openTable({ criticality: 'sheddable' })
    responses = Array(3).fill(errorOf('ThrottlingException'))
  })

  test.each(Object.keys(all) as (keyof typeof all)[])('is not sent %s again at once', async (call) => {
    expect(await sentAfter(all[call]('busy'), () => all[call]('busy'))).toBe(0)
  })

  test.each(Object.keys(all) as (keyof typeof all)[])('does not hold back %s of another', async (call) => {
    expect(await sentAfter(all[call]('busy'), () => all[call]('idle'))).toBe(1)
  })

  test('holds back its other reads', async () => {
    expect(await sentAfter(reads.get('busy'), () => reads.readRange('busy'))).toBe(0)
  })

  test('of reads does not hold back writes', async () => {
    expect(await sentAfter(reads.get('busy'), () => writes.put('busy'))).toBe(1)
  })

  test('of the index by id holds back searches of that id only', async () => {
    expect(await sentAfter(table.findById('order', '1'), () => table.findById('order', '1'))).toBe(0)
    expect(await sentAfter(Promise.resolve(), () => table.findById('order', '2'))).toBe(1)
  })
})
