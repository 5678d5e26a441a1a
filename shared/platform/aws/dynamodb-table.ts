import {
  type AttributeValue,
  BatchExecuteStatementCommand,
  BatchGetItemCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  type TransactionCanceledException,
  type TransactWriteItem,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb'
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb'
import { lazy } from '../base/cached-load.ts'
import { type Budget, type Clock, newId } from '../base/clock.ts'

import { byIdIndex, type Item, type Key, ownerOf } from '../table/keys.ts'
import type { Change, Condition, Put, Refusal, Table, Update } from '../table/table.ts'
import { pause, retry } from './retry.ts'

/** Returns the client of this process. The table retries, within each request's budget. */
export const dynamodbClient = lazy(
  () => new DynamoDBClient({ maxAttempts: 1, requestHandler: { connectionTimeout: 1000 } }),
)

type Attributes = Record<string, AttributeValue>

/** Opens the table for one request. No call outlasts the request's budget. */
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

    async getMany(keys) {
      const found: Item[] = []
      let left: Attributes[] = keys.map((key) => marshall(key))
      // Unprocessed keys are requested again after a growing pause.
      for (let again = 0; left.length > 0; again += 1) {
        if (again > 0) await pause(clock, budget, again)
        const command = new BatchGetItemCommand({
          RequestItems: { [name]: { Keys: left, ConsistentRead: true } },
        })
        const { Responses, UnprocessedKeys } = await send((abortSignal) =>
          client.send(command, { abortSignal }),
        )
        found.push(...(Responses?.[name] ?? []).map(toItem))
        left = UnprocessedKeys?.[name]?.Keys ?? []
      }
      return found
    },

    async transact(changes) {
      const command = new TransactWriteItemsCommand({
        TransactItems: changes.map((change) => transactItem(name, change)),
        // The same token on every attempt: a retry after a lost response returns its success.
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

    async insertMany(items) {
      const known: Item[] = []
      let left = [...items]
      for (let again = 0; left.length > 0; again += 1) {
        if (again > 0) await pause(clock, budget, again)
        const command = new BatchExecuteStatementCommand({
          Statements: left.map((item) => insertion(name, item)),
        })
        const { Responses = [] } = await send((abortSignal) => client.send(command, { abortSignal }))
        const codeOf = (index: number) => Responses[index]?.Error?.Code
        known.push(...left.filter((_, index) => codeOf(index) === 'DuplicateItem'))
        const unable = Responses.find(({ Error: one }) => one && !passing.has(one.Code ?? ''))
        if (unable) throw new Error(`an item could not be inserted: ${unable.Error?.Code}`)
        left = left.filter((_, index) => {
          const code = codeOf(index)
          return code !== undefined && code !== 'DuplicateItem'
        })
      }
      return known
    },
  }
}

/** Codes that do not fail a batch: DuplicateItem is a result, the others are retried. */
const passing = new Set([
  'DuplicateItem',
  'ThrottlingError',
  'ProvisionedThroughputExceeded',
  'RequestLimitExceeded',
  'InternalServerError',
  'TransactionConflict',
])

/** PartiQL's INSERT never overwrites an item, and a batch of them is one request. Conditional puts have no batch. */
function insertion(name: string, item: Item) {
  const values = marshall(item, { removeUndefinedValues: true })
  const members = Object.keys(values).map((attribute) => `'${attribute}': ?`)
  return {
    Statement: `INSERT INTO "${name}" VALUE {${members.join(', ')}}`,
    Parameters: Object.values(values),
  }
}

function transactItem(name: string, change: Change): TransactWriteItem {
  if ('item' in change) return { Put: conditionalPut(name, change) }
  const refusal = { TableName: name, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const }
  if ('remove' in change) {
    const condition = change.condition === 'none' ? {} : expressionOf(change.condition)
    return { Delete: { ...refusal, Key: marshall(change.remove), ...condition } }
  }
  const condition: Partial<ConditionInput> = change.condition === 'none' ? {} : expressionOf(change.condition)
  const update = updateOf(change)
  return {
    Update: {
      ...refusal,
      Key: marshall(change.update),
      ...condition,
      UpdateExpression: update.expression,
      ExpressionAttributeNames: { ...condition.ExpressionAttributeNames, ...update.names },
      ExpressionAttributeValues: { ...condition.ExpressionAttributeValues, ...update.values },
    },
  }
}

function conditionalPut(name: string, { item, condition }: Put) {
  return {
    TableName: name,
    Item: marshall(item, { removeUndefinedValues: true }),
    ...(condition === 'none' ? {} : expressionOf(condition)),
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
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

/** Returns the table of the function's region. */
export function deployedTable(name: string, clock: Clock, budget: Budget): Table {
  return dynamodbTable(dynamodbClient(), name, clock, budget)
}

/** Collects the names and values of an expression. */
class Terms {
  readonly names: Record<string, string> = {}
  readonly values: Record<string, unknown> = {}
  readonly #prefix: string

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  name(attribute: string): string {
    const placeholder = `#${this.#prefix}${Object.keys(this.names).length}`
    this.names[placeholder] = attribute
    return placeholder
  }

  value(value: unknown): string {
    const placeholder = `:${this.#prefix}${Object.keys(this.values).length}`
    this.values[placeholder] = value
    return placeholder
  }
}

/** The condition members of a write request. */
export interface ConditionInput {
  ConditionExpression: string
  ExpressionAttributeNames?: Record<string, string>
  ExpressionAttributeValues?: Attributes
}

/** Converts a condition to the members of a write request. */
export function expressionOf(condition: Condition): ConditionInput {
  if ('absent' in condition) return { ConditionExpression: 'attribute_not_exists(pk)' }
  if ('absentOrExpiredBy' in condition) {
    return {
      ConditionExpression: 'attribute_not_exists(pk) OR expires_at <= :expired',
      ExpressionAttributeValues: marshall({ ':expired': condition.absentOrExpiredBy }),
    }
  }
  const terms = new Terms('c')
  if ('absentOrBelow' in condition) {
    const { attribute, value } = condition.absentOrBelow
    return {
      ConditionExpression: `attribute_not_exists(pk) OR ${terms.name(attribute)} < ${terms.value(value)}`,
      ExpressionAttributeNames: terms.names,
      ExpressionAttributeValues: marshall(terms.values),
    }
  }
  const { matches, oneOf = {}, below = {} } = condition
  const clauses = [
    ...Object.entries(matches).map(([name, value]) => `${terms.name(name)} = ${terms.value(value)}`),
    ...Object.entries(oneOf).map(
      ([name, values]) => `${terms.name(name)} IN (${values.map((value) => terms.value(value)).join(', ')})`,
    ),
    ...Object.entries(below).map(([name, value]) => `${terms.name(name)} < ${terms.value(value)}`),
  ]
  return {
    ConditionExpression: clauses.join(' AND '),
    ExpressionAttributeNames: terms.names,
    ExpressionAttributeValues: marshall(terms.values),
  }
}

/** Converts an update to an expression with its names and values. */
export function updateOf({ set, copy = {}, increment = [], add = {} }: Update) {
  const terms = new Terms('u')
  const clauses = [
    ...Object.entries(set).map(([name, value]) => `${terms.name(name)} = ${terms.value(value)}`),
    ...Object.entries(copy).map(([target, source]) => `${terms.name(target)} = ${terms.name(source)}`),
    ...[...increment.map((name) => [name, 1] as const), ...Object.entries(add)].map(([name, summand]) => {
      const attribute = terms.name(name)
      return `${attribute} = if_not_exists(${attribute}, ${terms.value(0)}) + ${terms.value(summand)}`
    }),
  ]
  return {
    expression: `SET ${clauses.join(', ')}`,
    names: terms.names,
    values: marshall(terms.values),
  }
}
