import {
  BatchGetCommand,
  BatchWriteCommand,
  type DynamoDBDocumentClient,
  paginateQuery,
  paginateScan,
  QueryCommand,
  type QueryCommandInput,
} from '@aws-sdk/lib-dynamodb'
import type { Item, Key } from '#shared/platform/table/keys.ts'

/** The tables of a carry-over. */
export interface Copying {
  client: DynamoDBDocumentClient
  source: string
  target: string
}

type WriteRequest = { PutRequest: { Item: Item } } | { DeleteRequest: { Key: Key } }

/** DynamoDB accepts so many items in a batch of writes, and in a batch of reads. */
const [writtenItems, readItems] = [25, 100]

export const putOf = (Item: Item): WriteRequest => ({ PutRequest: { Item } })
export const removeRequest = ({ pk, sk }: Key): WriteRequest => ({ DeleteRequest: { Key: { pk, sk } } })

/** Writes items of the target. */
export async function writeAll({ client, target }: Copying, all: readonly WriteRequest[]): Promise<void> {
  for (let at = 0; at < all.length; at += writtenItems) {
    let requests = all.slice(at, at + writtenItems)
    while (requests.length > 0) {
      const command = new BatchWriteCommand({ RequestItems: { [target]: requests } })
      const { UnprocessedItems } = await client.send(command)
      requests = (UnprocessedItems?.[target] ?? []) as WriteRequest[]
    }
  }
}

/** Returns the items of a table that exist, in no order. */
export async function itemsAt(
  client: DynamoDBDocumentClient,
  table: string,
  keys: readonly Key[],
): Promise<Item[]> {
  const items: Item[] = []
  for (let at = 0; at < keys.length; at += readItems) {
    let Keys: Key[] | undefined = keys.slice(at, at + readItems)
    while (Keys && Keys.length > 0) {
      const RequestItems = { [table]: { Keys, ConsistentRead: true } }
      const { Responses, UnprocessedKeys } = await client.send(new BatchGetCommand({ RequestItems }))
      items.push(...((Responses?.[table] ?? []) as Item[]))
      Keys = UnprocessedKeys?.[table]?.Keys as Key[] | undefined
    }
  }
  return items
}

/** Returns whether a table has items in one of these partitions. */
export async function hasItems(
  client: DynamoDBDocumentClient,
  TableName: string,
  partitions: readonly string[],
): Promise<boolean> {
  const counts = await Promise.all(
    partitions.map(async (partition) => {
      const first = { ...queryOf(TableName, partition), Limit: 1 }
      return (await client.send(new QueryCommand(first))).Count ?? 0
    }),
  )
  return counts.some((count) => count > 0)
}

/** Returns the items of a partition, page by page. */
export async function* pagesOf(
  client: DynamoDBDocumentClient,
  TableName: string,
  partition: string,
): AsyncGenerator<Item[]> {
  const pages = paginateQuery({ client }, queryOf(TableName, partition))
  for await (const { Items = [] } of pages) yield Items as Item[]
}

function queryOf(TableName: string, partition: string): QueryCommandInput {
  return {
    TableName,
    KeyConditionExpression: 'pk = :partition',
    ExpressionAttributeValues: { ':partition': partition },
    ConsistentRead: true,
  }
}

/** The parts of a table that are read in parallel. */
const segments = 16

/** Works on the items of a whole table that a filter selects, page by page. */
export async function scanAll(
  client: DynamoDBDocumentClient,
  TableName: string,
  { filter, values }: { filter: string; values: Record<string, string> },
  work: (page: Item[]) => Promise<void>,
): Promise<void> {
  const selected = { FilterExpression: filter, ExpressionAttributeValues: values, ConsistentRead: true }
  await Promise.all(
    Array.from({ length: segments }, async (_, Segment) => {
      const segment = { TableName, ...selected, Segment, TotalSegments: segments }
      for await (const { Items = [] } of paginateScan({ client }, segment)) await work(Items as Item[])
    }),
  )
}
