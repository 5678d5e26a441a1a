import {
  CreateTableCommand,
  DeleteTableCommand,
  GetItemCommand,
  PutItemCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { capacityOf } from '#test/support/capacity.ts'
import { testClient } from '#test/support/dynamodb-client.ts'
import { startDynamodbProxy } from './dynamodb-proxy.ts'
import type { Fault } from './faults.ts'

const TableName = `proxy-${crypto.randomUUID()}`
const direct = testClient()
let count = 0

const key = (id: string) => ({ pk: { S: id } })
const newId = () => `item-${count++}`
const put = (id: string) => new PutItemCommand({ TableName, Item: key(id), ReturnConsumedCapacity: 'TOTAL' })
const transact = (...ids: string[]) =>
  new TransactWriteItemsCommand({
    ReturnConsumedCapacity: 'TOTAL',
    TransactItems: ids.map((id) => ({ Put: { TableName, Item: key(id) } })),
  })
const stored = async (id: string) => {
  const { Item } = await direct.send(new GetItemCommand({ TableName, Key: key(id), ConsistentRead: true }))
  return Item !== undefined
}
const always = () => true
const inject = (fault: Fault, times?: number) =>
  proxy.inject({ when: always, fault, ...(times !== undefined && { times }) })

const proxy = await startDynamodbProxy(process.env.DYNAMODB_ENDPOINT ?? '')
const client = testClient(proxy.endpoint)
beforeAll(async () => {
  await direct.send(
    new CreateTableCommand({
      TableName,
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
      BillingMode: 'PAY_PER_REQUEST',
    }),
  )
})
afterEach(() => proxy.reset())
afterAll(async () => {
  await direct.send(new DeleteTableCommand({ TableName }))
  client.destroy()
  direct.destroy()
  await proxy.stop()
})

describe('without a plan', () => {
  test('calls are forwarded, and recorded with their input and consumed capacity', async () => {
    const id = newId()
    await client.send(put(id))
    const read = await client.send(new GetItemCommand({ TableName, Key: key(id), ConsistentRead: true }))
    expect(read.Item).toEqual(key(id))
    expect(proxy.calls).toMatchObject([
      { operation: 'PutItem', index: 0, body: { TableName, Item: key(id) }, status: 200 },
      { operation: 'GetItem', index: 1, status: 200, consumed: [] },
    ])
    expect(capacityOf(proxy.calls)).toEqual({ requests: 2, readUnits: 0, writeUnits: 1, unmeasured: 1 })
  })
})

describe('the connection', () => {
  test('lose-answer: the caller fails and the write takes effect', async () => {
    const id = newId()
    inject('lose-answer')
    await expect(client.send(put(id))).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(await stored(id)).toBe(true)
    expect(proxy.calls[0]).toMatchObject({ fault: 'lose-answer', status: 200 })
  })

  test('lose-request: the caller fails and nothing is written', async () => {
    const id = newId()
    inject('lose-request')
    await expect(client.send(put(id))).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect(await stored(id)).toBe(false)
    expect(proxy.calls[0]).not.toHaveProperty('status')
  })

  test('until: the write takes effect late, even after its caller gave up', async () => {
    const abandoned = newId()
    const { promise, resolve: land } = Promise.withResolvers<void>()
    const dying = new AbortController()
    const late = proxy.inject({
      when: () => {
        dying.abort()
        return true
      },
      fault: { until: promise },
    })
    await expect(client.send(put(abandoned), { abortSignal: dying.signal })).rejects.toThrow()
    land()
    await late.injected
    expect(await stored(abandoned)).toBe(true)
  })

  test('hold: the write takes effect while its response is held until release', async () => {
    const id = newId()
    const held = inject('hold')
    let answered = false
    const answer = client.send(put(id)).then(() => {
      answered = true
    })
    expect(await held.injected).toMatchObject({ operation: 'PutItem', status: 200 })
    expect(await stored(id)).toBe(true)
    expect(answered).toBe(false)
    held.release()
    await answer
  })
})

describe('the failures of DynamoDB', () => {
  const cases = [
    ['throttle', 'ProvisionedThroughputExceededException', 400],
    ['in-progress', 'TransactionInProgressException', 400],
    ['internal', 'InternalServerError', 500],
    ['unavailable', 'ServiceUnavailable', 503],
  ] as const

  test.each(cases)('%s is %s with status %i, and nothing is written', async (fault, name, status) => {
    const id = newId()
    inject(fault)
    await expect(client.send(transact(id))).rejects.toMatchObject({
      name,
      message: expect.stringMatching(/\w{5}/),
      $metadata: { httpStatusCode: status, requestId: expect.any(String) },
    })
    expect(await stored(id)).toBe(false)
    await client.send(transact(id))
  })

  test('a transaction conflict has a reason for each item, the first a TransactionConflict', async () => {
    inject('conflict')
    await expect(client.send(transact(newId(), newId(), newId()))).rejects.toMatchObject({
      name: 'TransactionCanceledException',
      message: expect.stringContaining('[TransactionConflict, None, None]'),
      CancellationReasons: [{ Code: 'TransactionConflict' }, { Code: 'None' }, { Code: 'None' }],
    })
  })

  test('a conflict of a single write is a TransactionConflictException', async () => {
    inject('conflict', 2)
    const update = new UpdateItemCommand({ TableName, Key: key(newId()) })
    for (const command of [put(newId()), update])
      await expect(client.send(command as PutItemCommand)).rejects.toMatchObject({
        name: 'TransactionConflictException',
      })
  })
})

describe('a plan', () => {
  test('affects the selected calls the given number of times, and none after a reset', async () => {
    const injection = proxy.inject({
      when: ({ operation, index }) => operation === 'PutItem' && index > 0,
      times: 2,
      fault: 'throttle',
    })
    const outcomes = []
    for (let call = 0; call < 4; call++)
      outcomes.push(
        await client.send(put(newId())).then(
          () => 'ok',
          (error) => error.name,
        ),
      )
    const throttled = 'ProvisionedThroughputExceededException'
    expect(outcomes).toEqual(['ok', throttled, throttled, 'ok'])
    expect(injection.hits).toBe(2)

    inject('unavailable', Number.POSITIVE_INFINITY)
    proxy.reset()
    await client.send(put(newId()))
    expect(proxy.calls).toHaveLength(1)
  })
})
