import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { BatchWriteCommand, DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import type { Item } from '#shared/platform/table/keys.ts'

const batchSize = 25
const batchesAtOnce = 8

/** Puts items into a table directly, as fast as DynamoDB Local accepts them. */
export async function fill(client: DynamoDBClient, table: string, items: readonly Item[]): Promise<void> {
  const documents = DynamoDBDocumentClient.from(client)
  let next = 0
  async function work(): Promise<void> {
    while (next < items.length) {
      const batch = items.slice(next, next + batchSize)
      next += batchSize
      const requests = batch.map((item) => ({ PutRequest: { Item: item } }))
      await documents.send(new BatchWriteCommand({ RequestItems: { [table]: requests } }))
    }
  }
  await Promise.all(Array.from({ length: batchesAtOnce }, work))
}
