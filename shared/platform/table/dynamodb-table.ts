import {
  type AttributeValue,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  type TransactionCanceledException,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb'
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb'
import { type Clock, newId } from '../clock.ts'
import type { Budget } from '../limits/budget.ts'
import { byIdIndex, type Item, type Key, ownerOf } from './keys.ts'
import { retry } from './retry.ts'
import type { Condition, Put, Refusal, Table } from './table.ts'

type Attributes = Record<string, AttributeValue>

/** Opens the table for one request: each call ends with the request's budget at the latest. */
export function dynamodbTable(client: DynamoDBClient, name: string, clock: Clock, budget: Budget): Table {
  const send = <T>(call: (signal: AbortSignal) => Promise<T>) => retry(call, clock, budget)

  return {
    async get(key) {
      const command = new GetItemCommand({ TableName: name, Key: marshall(key), ConsistentRead: true })
      const { Item: found } = await send((abortSignal) => client.send(command, { abortSignal }))
      return found && toItem(found)
    },

    async readRange({ partition, low, high, descending, limit }) {
      if (low > high) return { items: [], exhausted: true }
      const command = new QueryCommand({
        TableName: name,
        KeyConditionExpression: 'pk = :partition AND sk BETWEEN :low AND :high',
        ExpressionAttributeValues: marshall({ ':partition': partition, ':low': low, ':high': high }),
        ScanIndexForward: !descending,
        ConsistentRead: true,
        Limit: limit,
      })
      const read = await send((abortSignal) => client.send(command, { abortSignal }))
      return { items: (read.Items ?? []).map(toItem), exhausted: read.LastEvaluatedKey === undefined }
    },

    async findById(entity, id) {
      const command = new QueryCommand({
        TableName: name,
        IndexName: byIdIndex,
        KeyConditionExpression: 'id = :id',
        ExpressionAttributeValues: marshall({ ':id': id }),
      })
      const { Items: found } = await send((abortSignal) => client.send(command, { abortSignal }))
      const keys = (found ?? [])
        .map((attributes) => unmarshall(attributes) as Key)
        .map(({ pk, sk }) => ({ pk, sk }))
      return keys.find(({ pk }) => ownerOf(pk).entity === entity)
    },

    async transact(puts) {
      const command = new TransactWriteItemsCommand({
        TransactItems: puts.map((put) => ({ Put: conditionalPut(name, put) })),
        // The same token on every attempt: a retry after a lost answer is told of its own success.
        ClientRequestToken: newId(clock),
      })
      try {
        await send((abortSignal) => client.send(command, { abortSignal }))
        return undefined
      } catch (thrown) {
        return refusalOf(thrown as TransactionCanceledException)
      }
    },

    async put(put) {
      const command = new PutItemCommand(conditionalPut(name, put))
      try {
        await send((abortSignal) => client.send(command, { abortSignal }))
        return undefined
      } catch (thrown) {
        const { name: errorName, Item: existing } = thrown as { name: string; Item?: Attributes }
        if (errorName !== 'ConditionalCheckFailedException') throw thrown
        return { index: 0, existing: existing && toItem(existing) }
      }
    },
  }
}

function conditionalPut(name: string, { item, condition }: Put) {
  return {
    TableName: name,
    Item: marshall(item, { removeUndefinedValues: true }),
    ...expressionOf(condition),
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
  }
}

function expressionOf(condition: Condition) {
  if ('absent' in condition) return { ConditionExpression: 'attribute_not_exists(pk)' }
  if ('absentOrExpiredBy' in condition) {
    return {
      ConditionExpression: 'attribute_not_exists(pk) OR expires_at <= :expired',
      ExpressionAttributeValues: marshall({ ':expired': condition.absentOrExpiredBy }),
    }
  }
  const expected = Object.entries(condition.matches)
  return {
    ConditionExpression: expected.map((_, index) => `#a${index} = :v${index}`).join(' AND '),
    ExpressionAttributeNames: Object.fromEntries(expected.map(([name], index) => [`#a${index}`, name])),
    ExpressionAttributeValues: marshall(
      Object.fromEntries(expected.map(([, value], index) => [`:v${index}`, value])),
    ),
  }
}

function refusalOf(thrown: TransactionCanceledException): Refusal {
  const reasons = thrown.name === 'TransactionCanceledException' ? (thrown.CancellationReasons ?? []) : []
  const index = reasons.findIndex((reason) => reason.Code === 'ConditionalCheckFailed')
  if (index < 0) throw thrown
  const existing = reasons[index]?.Item
  return { index, existing: existing && toItem(existing) }
}

function toItem(attributes: Attributes): Item {
  return unmarshall(attributes) as Item
}
