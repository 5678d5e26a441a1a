import { BatchWriteItemCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { marshall } from '@aws-sdk/util-dynamodb'
import type { Item } from '#shared/platform/table/keys.ts'

const batchSize = 25
const batchesAtOnce = 8

/** Puts items into a table past the service, as fast as DynamoDB Local takes them. */
export async function fill(client: DynamoDBClient, table: string, items: readonly Item[]): Promise<void> {
  let next = 0
  async function work(): Promise<void> {
    while (next < items.length) {
      const batch = items.slice(next, next + batchSize)
      next += batchSize
      const requests = batch.map((item) => ({ PutRequest: { Item: marshall(item) } }))
      await client.send(new BatchWriteItemCommand({ RequestItems: { [table]: requests } }))
    }
  }
  await Promise.all(Array.from({ length: batchesAtOnce }, work))
}
