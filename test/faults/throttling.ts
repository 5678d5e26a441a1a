import { type AttributeValue, BatchGetItemCommand } from '@aws-sdk/client-dynamodb'
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb'
import type { Item, Key } from '#shared/platform/table/keys.ts'
import { type Change, keyOfChange } from '#shared/platform/table/table.ts'
import { type AdmittedCall, Capacity, type CapacityOptions } from '#test/simulation/partition-capacity.ts'
import { testClient } from '#test/support/dynamodb-client.ts'
import { type Answer, errorAnswer } from './dynamodb-failures.ts'
import type { Limit } from './dynamodb-proxy.ts'

type Attributes = Record<string, AttributeValue>
type Member = { Item: Attributes; Key: Attributes }
type WireChange = Partial<Record<'Put' | 'Update' | 'Delete' | 'ConditionCheck', Member>>

/** The members of the requests that are read here. */
interface Body extends Member {
  TableName: string
  IndexName?: string
  ExpressionAttributeValues: Attributes
  TransactItems: WireChange[]
  RequestItems: Record<string, { Keys: Attributes[] }>
  Statements: { Statement: string; Parameters: AttributeValue[] }[]
}

/** The limit of a proxy of DynamoDB Local by the capacity of partition keys. */
interface Throttling {
  limit: Limit
  capacity: Capacity
  stop: () => void
}

/**
 * Returns the limit of a proxy for one table. Its units are those of the table in memory; DynamoDB Local is asked for the
 * items that calls change.
 */
export function throttling(table: string, options: Omit<CapacityOptions, 'store'>): Throttling {
  const direct = testClient()
  const stored = new Map<string, Item>()
  const store = { get: ({ pk, sk }: Key) => stored.get(`${pk} ${sk}`) }
  const capacity = new Capacity({ store, ...options })

  async function readAgain(keys: readonly Key[]): Promise<void> {
    if (keys.length === 0) return
    const Keys = keys.map(({ pk, sk }) => marshall({ pk, sk }))
    const read = await direct.send(
      new BatchGetItemCommand({ RequestItems: { [table]: { Keys, ConsistentRead: true } } }),
    )
    for (const { pk, sk } of keys) stored.delete(`${pk} ${sk}`)
    for (const found of (read.Responses?.[table] ?? []).map(itemOf))
      stored.set(`${found.pk} ${found.sk}`, found)
  }

  return {
    capacity,
    stop: () => direct.destroy(),
    async limit({ operation, body }, forward) {
      const call = callOf(operation, body as Body)
      if (!call) return forward()
      await readAgain(call.changes.map(keyOfChange))
      let takeRest: (result: unknown) => void
      try {
        takeRest = capacity.admit(call)
      } catch (thrown) {
        return errorAnswer(thrown as Error)
      }
      const answer = await forward()
      if (answer.status !== 200) return answer
      await readAgain(call.changes.filter((change) => 'update' in change).map(keyOfChange))
      takeRest(resultOf(operation, answer, table))
      return answer
    },
  }
}

const itemOf = (attributes: Attributes) => unmarshall(attributes) as Item
const condition = 'none'

/** Returns a request as a call of the table in memory; undefined if it uses no units. */
function callOf(operation: string, body: Body): AdmittedCall | undefined {
  const of = (name: string, input: unknown, changes: Change[] = []) => ({ name, input, changes })
  switch (operation) {
    case 'PutItem':
      return of('put', body, [changeOf({ Put: body })])
    case 'UpdateItem':
      return of('update', body, [changeOf({ Update: body })])
    case 'TransactWriteItems':
      return of('transact', body, body.TransactItems.map(changeOf))
    case 'BatchExecuteStatement':
      return of('insert-many', body.Statements.map(insertedItem))
    case 'GetItem':
      return of('get', itemOf(body.Key))
    case 'BatchGetItem':
      return of(
        'get-many',
        Object.values(body.RequestItems).flatMap(({ Keys }) => Keys.map(itemOf)),
      )
    case 'Query': {
      const { ':id': id, ':partition': partition } = body.ExpressionAttributeValues
      return body.IndexName ? of('find-by-id', id?.S) : of('read-range', { partition: partition?.S })
    }
    default:
      return undefined
  }
}

/** Conditions and updates are left out, because units do not depend on them. */
function changeOf({ Put, Update, Delete, ConditionCheck }: WireChange): Change {
  if (Put) return { item: itemOf(Put.Item), condition }
  if (Update) return { update: itemOf(Update.Key), set: {}, condition }
  return Delete
    ? { remove: itemOf(Delete.Key), condition }
    : { check: itemOf((ConditionCheck as Member).Key), condition: { absent: true } }
}

function insertedItem({ Statement, Parameters }: Body['Statements'][number]): Item {
  const names = Array.from(Statement.matchAll(/'([^']+)': \?/g), ([, name]) => name)
  return itemOf(Object.fromEntries(Parameters.map((value, index) => [names[index], value])))
}

/** Returns what the table in memory returns, as far as units depend on it. */
function resultOf(operation: string, { body }: Answer, table: string): unknown {
  const { Item: item, Items, Responses } = JSON.parse(body.toString())
  if (operation === 'GetItem') return item && itemOf(item)
  if (operation === 'BatchGetItem') return { items: Responses[table].map(itemOf) }
  return { items: (Items ?? []).map(itemOf) }
}
