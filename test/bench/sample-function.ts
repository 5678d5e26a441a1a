import {
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  TransactionCanceledException,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb'
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb'
import middy from '@middy/core'
import { createLocalJWKSet, createRemoteJWKSet, type JSONWebKeySet, jwtVerify } from 'jose'
import * as v from 'valibot'
import { deployedSettings } from '#shared/platform/aws/deployed-settings.ts'
import { httpHandler } from '#shared/platform/aws/http-handler.ts'
import { jsonLog } from '#shared/platform/base/log.ts'

/** A function of everything that a hot function is made of, to see that it works bundled. */
const client = new DynamoDBClient({
  requestHandler: httpHandler(60_000),
})
const log = jsonLog('sample')

const Request = v.strictObject({
  table: v.pipe(v.string(), v.minLength(3)),
  ids: v.array(v.pipe(v.string(), v.trim())),
  token: v.optional(v.string()),
  keys: v.optional(
    v.union([v.object({ url: v.pipe(v.string(), v.url()) }), v.looseObject({ keys: v.array(v.any()) })]),
  ),
})

async function perform(event: unknown) {
  const { table, ids, token, keys } = v.parse(Request, event)
  log.relay({ code: 'EVENTS_PUBLISHED', published: ids.length, failed: 0 })
  const transaction = await transact(table, ids)
  const alone = await putOnce(table, ids[0] as string)
  const key = marshall({ pk: 'sample', sk: ids[0] })
  const { Item: item = {} } = await client.send(
    new GetItemCommand({ TableName: table, Key: key, ConsistentRead: true }),
  )
  return {
    settings: deployedSettings(),
    transaction,
    alone,
    item: unmarshall(item),
    range: await range(table),
    missing: await errorOf(() => range('no-such-table')),
    subject: token && keys && (await subjectOf(token, keys)),
    loaded: (process as unknown as { moduleLoadList: string[] }).moduleLoadList.filter((name) =>
      /undici|http2/.test(name),
    ),
  }
}

/** Puts the items if none exists yet, otherwise returns the one that exists. */
async function transact(table: string, ids: string[]) {
  const puts = ids.map((id) => ({
    Put: {
      TableName: table,
      Item: marshall({
        pk: 'sample',
        sk: id,
        list: [1, 'ä', null, { deep: true }],
        set: new Set(['a', 'b']),
        bytes: new Uint8Array([1, 2]),
      }),
      ConditionExpression: 'attribute_not_exists(pk)',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
    },
  }))
  try {
    const done = await client.send(
      new TransactWriteItemsCommand({ TransactItems: puts, ReturnConsumedCapacity: 'TOTAL' }),
    )
    return { status: done.$metadata.httpStatusCode }
  } catch (error) {
    if (!(error instanceof TransactionCanceledException)) throw error
    const reasons = error.CancellationReasons?.map(({ Code, Item }) => ({
      Code,
      item: Item && unmarshall(Item),
    }))
    return { name: error.name, fault: error.$fault, status: error.$metadata.httpStatusCode, reasons }
  }
}

const putOnce = (table: string, id: string) =>
  errorOf(() => {
    const Item = marshall({ pk: 'sample', sk: id })
    const ConditionExpression = 'attribute_not_exists(pk)'
    return client.send(
      new PutItemCommand({
        TableName: table,
        Item,
        ConditionExpression,
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      }),
    )
  })

async function range(table: string) {
  const read = await client.send(
    new QueryCommand({
      TableName: table,
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: marshall({ ':pk': 'sample' }),
      ScanIndexForward: false,
    }),
  )
  return read.Items?.map((item) => unmarshall(item).sk)
}

async function errorOf(call: () => Promise<unknown>) {
  try {
    await call()
    return undefined
  } catch (thrown) {
    const { name, message, Item } = thrown as { name: string; message: string; Item?: Record<string, never> }
    return { name, message, isError: thrown instanceof Error, item: Item && unmarshall(Item) }
  }
}

async function subjectOf(token: string, keys: { url: string } | { keys: unknown[] }) {
  const { payload } =
    'url' in keys
      ? await jwtVerify(token, createRemoteJWKSet(new URL(keys.url)))
      : await jwtVerify(token, createLocalJWKSet(keys as JSONWebKeySet))
  return payload.sub
}

export const handler = middy().handler(perform)
