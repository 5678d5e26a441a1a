import { Agent } from 'node:http'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient, paginateScan } from '@aws-sdk/lib-dynamodb'
import { lazy } from '#shared/platform/base/cached-load.ts'
import type { Entity, Item } from '#shared/platform/table/keys.ts'
import type { MemoryStore } from '#test/simulation/memory-store.ts'

/** How long a connection of `testClient` is kept without a request. */
const idleMilliseconds = 5000

/**
 * Creates a client of DynamoDB Local without retries, so a test sees every failure. Throws without an endpoint, because
 * the SDK would use the real AWS.
 */
export function testClient(endpoint = process.env.DYNAMODB_ENDPOINT): DynamoDBClient {
  if (!endpoint) throw new Error('DYNAMODB_ENDPOINT is not set: run the tests through jest, which sets it.')
  return new DynamoDBClient({
    endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    maxAttempts: 1,
    requestHandler: {
      // DynamoDB Local closes a connection that is idle for 30 s. A request that is sent on it at that moment fails.
      httpAgent: new Agent({ keepAlive: true, maxSockets: 50, timeout: idleMilliseconds }),
      // Tests with hundreds of calls at once wait for connections on purpose.
      socketAcquisitionWarningTimeout: 600_000,
    },
  })
}

/** Creates such a client that reads and writes items instead of attribute values. */
export function documentClient(): DynamoDBDocumentClient {
  return DynamoDBDocumentClient.from(testClient())
}

const localClient = lazy(documentClient)

/** The tables of `newTable` in memory, by name. */
export const tablesInMemory = new Map<string, MemoryStore>()

/** Returns all items of a table, or those of the partitions whose names begin with a prefix. */
export async function itemsOf(TableName: string, prefix = ''): Promise<Item[]> {
  const store = tablesInMemory.get(TableName)
  if (store) return store.all().filter(({ pk }) => pk.startsWith(prefix))
  const found: Item[] = []
  for await (const { Items = [] } of paginateScan(
    { client: localClient() },
    {
      TableName,
      ConsistentRead: true,
      ...(prefix && {
        FilterExpression: 'begins_with(pk, :prefix)',
        ExpressionAttributeValues: { ':prefix': prefix },
      }),
    },
  )) {
    found.push(...(Items as Item[]))
  }
  return found
}

/** Returns all items of an entity of a tenant, oldest first. One scan is faster than a query of each shard. */
export async function entityItems(tableName: string, tenant: string, entity: Entity): Promise<Item[]> {
  const found = await itemsOf(tableName, `${entity}#${tenant}#`)
  return found.toSorted((a, b) => (a.sk < b.sk ? -1 : 1))
}
