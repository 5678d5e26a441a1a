import { createHash, createHmac, createSecretKey, type Hash, type Hmac } from 'node:crypto'
import {
  type $Command,
  type AttributeValue,
  BatchExecuteStatementCommand,
  BatchGetItemCommand,
  ConditionalCheckFailedException,
  type ConsumedCapacity,
  DynamoDBClient,
  type DynamoDBClientResolvedConfig,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  type ServiceInputTypes,
  type ServiceOutputTypes,
  TransactionCanceledException,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb'
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb'
import { lazy } from '../base/cached-load.ts'
import { newId } from '../base/clock.ts'
import { fail } from '../base/failure.ts'
import { byIdIndex, type Item, type Key, ownerOf } from '../table/keys.ts'
import type { Change, Refusal, Table, TableAccess } from '../table/table.ts'
import { isReadCapacity, readCapacity, writeCapacity } from '../table/table.ts'
import { conditionalPut, insertion, rangeQuery, transactItem, updateInput } from './dynamodb-expressions.ts'
import { httpHandler } from './http-handler.ts'
import { attemptMilliseconds, maxThrottled, retry, waitBeforeRetry } from './retry.ts'

/** Returns the client of this process. The table retries, within each request's budget. */
export const dynamodbClient = lazy(() => {
  const client = new DynamoDBClient({
    maxAttempts: 1,
    requestHandler: httpHandler(attemptMilliseconds),
    cacheMiddleware: true,
    sha256: Sha256,
  })
  const { middlewareStack: stack } = client
  stack.remove('loggerMiddleware')
  stack.remove('recursionDetectionMiddleware')
  // The table retries. Other middleware is placed relative to these two names: that of Powertools, and that which signs.
  const pass = <Next>(next: Next) => next
  stack.add(pass, { name: 'getUserAgentMiddleware', step: 'build', priority: 'low', override: true })
  stack.add(pass, { name: 'retryMiddleware', step: 'finalizeRequest', priority: 'high', override: true })
  // The time limit is a member of the command: a call with options would build its middleware again.
  stack.add(
    (next) => (sent) => {
      const { request, milliseconds } = sent as typeof sent & { milliseconds?: number }
      return next({ ...sent, request: Object.assign(request as object, { milliseconds }) })
    },
    { step: 'deserialize', priority: 'low' },
  )
  return client
})

/**
 * Computes the hashes and HMACs (SHA-256) of signatures. Unlike the SDK's class, it creates a key object from the key:
 * createHmac takes five times as long with a plain key.
 */
class Sha256 {
  readonly #hash: Hash | Hmac

  constructor(key?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = key
      ? createHmac('sha256', createSecretKey(Buffer.from(key as Uint8Array)))
      : createHash('sha256')
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(data as Uint8Array)
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest()
  }
}

type TableCommand<Input extends ServiceInputTypes, Output extends ServiceOutputTypes> = $Command<
  Input,
  Output,
  DynamoDBClientResolvedConfig,
  ServiceInputTypes,
  ServiceOutputTypes
>

type Attributes = Record<string, AttributeValue>

/** Opens the table for one request. No call outlasts the request's budget. */
export function dynamodbTable(client: DynamoDBClient, name: string, access: TableAccess): Table {
  const { clock, budget, units } = access
  /** @param capacities the partitions and indexes that the call uses: each is throttled apart */
  const send = async <Input extends ServiceInputTypes, Output extends ServiceOutputTypes>(
    command: TableCommand<Input, Output>,
    capacities: readonly string[],
  ) => {
    if (units) Object.assign(command.input, { ReturnConsumedCapacity: 'TOTAL' })
    const output = await retry(
      (milliseconds) => client.send(Object.assign(command, { milliseconds })),
      capacities,
      access,
    )
    if (units) units[isReadCapacity(capacities) ? 'read' : 'write'] += consumedBy(output as Consuming)
    return output
  }
  const changeOne = (change: Change, command: PutItemCommand | UpdateItemCommand) =>
    send(command as PutItemCommand, [writeCapacity(change)]).then(nothing, refusalOfOne)

  return {
    async get(key) {
      const command = new GetItemCommand({ TableName: name, Key: marshall(key), ConsistentRead: true })
      const { Item: found } = await send(command, [readCapacity(key.pk)])
      return found && toItem(found)
    },

    async readRange({ partition, low, high, descending, limit }) {
      if (low > high) return { items: [], exhausted: true }
      const query = rangeQuery(name, { partition, low, high })
      const command = new QueryCommand({ ...query, ScanIndexForward: !descending, Limit: limit })
      const read = await send(command, [readCapacity(partition)])
      return { items: (read.Items ?? []).map(toItem), exhausted: read.LastEvaluatedKey === undefined }
    },

    async findById(entity, id) {
      const command = new QueryCommand({
        TableName: name,
        IndexName: byIdIndex,
        KeyConditionExpression: 'id = :id',
        ExpressionAttributeValues: marshall({ ':id': id }),
      })
      const { Items: found } = await send(command, [readCapacity(id)])
      const keys = (found ?? [])
        .map((attributes) => unmarshall(attributes) as Key)
        .map(({ pk, sk }) => ({ pk, sk }))
      return keys.find(({ pk }) => ownerOf(pk).kind === entity)
    },

    async getMany(keys) {
      const found: Item[] = []
      let left: Attributes[] = keys.map((key) => marshall(key))
      // Unprocessed keys, which were throttled, are requested again after a growing pause.
      for (let again = 0, idle = 0; left.length > 0; again += 1) {
        if (idle === maxThrottled) throw fail('DEPENDENCY.unavailable')
        if (again > 0) await waitBeforeRetry(clock, budget, again)
        const command = new BatchGetItemCommand({
          RequestItems: { [name]: { Keys: left, ConsistentRead: true } },
        })
        const partitions = left.map(({ pk }) => readCapacity(String(pk?.S)))
        const { Responses, UnprocessedKeys } = await send(command, partitions)
        found.push(...(Responses?.[name] ?? []).map(toItem))
        const rest = UnprocessedKeys?.[name]?.Keys ?? []
        idle = rest.length < left.length ? 0 : idle + 1
        left = rest
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
        await send(command, changes.map(writeCapacity))
        return undefined
      } catch (thrown) {
        return refusalOf(thrown)
      }
    },

    put: (put) => changeOne(put, new PutItemCommand(conditionalPut(name, put))),
    update: (update) => changeOne(update, new UpdateItemCommand(updateInput(name, update))),

    async insertMany(items) {
      const known: Item[] = []
      let left = [...items]
      for (let again = 0; left.length > 0; again += 1) {
        if (again > 0) await waitBeforeRetry(clock, budget, again)
        const command = new BatchExecuteStatementCommand({
          Statements: left.map((item) => insertion(name, item)),
        })
        const capacities = left.map((one) => writeCapacity({ condition: 'none', item: one }))
        const { Responses = [] } = await send(command, capacities)
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

interface Consuming {
  ConsumedCapacity?: ConsumedCapacity | ConsumedCapacity[] | undefined
}

/** Returns the units of a call. DynamoDB reports none for one that a condition rejected. */
function consumedBy({ ConsumedCapacity: consumed = [] }: Consuming): number {
  const all = Array.isArray(consumed) ? consumed : [consumed]
  return all.reduce((sum, { CapacityUnits = 0 }) => sum + CapacityUnits, 0)
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

const nothing = () => undefined

function refusalOfOne(thrown: unknown): Refusal {
  if (!(thrown instanceof ConditionalCheckFailedException)) throw thrown
  return { index: 0, existing: thrown.Item && toItem(thrown.Item) }
}

function refusalOf(thrown: unknown): Refusal {
  const reasons = thrown instanceof TransactionCanceledException ? (thrown.CancellationReasons ?? []) : []
  const index = reasons.findIndex((reason) => reason.Code === 'ConditionalCheckFailed')
  if (index < 0) throw thrown
  const existing = reasons[index]?.Item
  return { index, existing: existing && toItem(existing) }
}

function toItem(attributes: Attributes): Item {
  return unmarshall(attributes) as Item
}

/** Returns the table of the function's region. */
export function deployedTable(name: string, access: TableAccess): Table {
  return dynamodbTable(dynamodbClient(), name, access)
}

/** Creates the client and loads what its first call needs. */
export function prepareTable(): void {
  // AWS is called over TLS, unlike an emulator.
  if (!dynamodbClient().config.endpoint) process.getBuiltinModule('node:https')
}
