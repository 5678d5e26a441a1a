import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient, paginateScan } from '@aws-sdk/lib-dynamodb'
import type { Item } from '#shared/platform/table/keys.ts'
import type { MemoryStore } from '#test/simulation/memory-store.ts'

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
    // Tests with hundreds of calls at once wait for connections on purpose.
    requestHandler: { socketAcquisitionWarningTimeout: 600_000 },
  })
}

/** Creates such a client that reads and writes items instead of attribute values. */
export function documentClient(endpoint?: string): DynamoDBDocumentClient {
  return DynamoDBDocumentClient.from(testClient(endpoint))
}

/** The tables of `newTable` in memory, by name. */
export const tablesInMemory = new Map<string, MemoryStore>()

/** Returns all items of a table. */
export async function itemsOf(TableName: string): Promise<Item[]> {
  const store = tablesInMemory.get(TableName)
  if (store) return store.all()
  const found: Item[] = []
  for await (const { Items = [] } of paginateScan(
    { client: documentClient() },
    { TableName, ConsistentRead: true },
  )) {
    found.push(...(Items as Item[]))
  }
  return found
}
