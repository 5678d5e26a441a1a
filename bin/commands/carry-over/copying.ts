import {
  BatchGetCommand,
  BatchWriteCommand,
  type DynamoDBDocumentClient,
  paginateQuery,
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
export const removalOf = ({ pk, sk }: Key): WriteRequest => ({ DeleteRequest: { Key: { pk, sk } } })

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

/** Yields the items of a partition by pages. @param from the smallest sort key */
export async function* pagesOf(
  client: DynamoDBDocumentClient,
  TableName: string,
  partition: string,
  from = ' ',
): AsyncGenerator<Item[]> {
  const ofPartition = {
    TableName,
    KeyConditionExpression: 'pk = :partition AND sk >= :from',
    ExpressionAttributeValues: { ':partition': partition, ':from': from },
    ConsistentRead: true,
  }
  for await (const { Items = [] } of paginateQuery({ client }, ofPartition)) yield Items as Item[]
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

/** Makes a partition of the target that of the source. @returns the number of its items */
export async function copyPartition(copying: Copying, partition: string): Promise<number> {
  const { client, source, target } = copying
  const kept = new Set<string>()
  for await (const page of pagesOf(client, source, partition)) {
    await writeAll(copying, page.map(putOf))
    for (const { sk } of page) kept.add(sk)
  }
  for await (const page of pagesOf(client, target, partition)) {
    const others = page.filter(({ sk }) => !kept.has(sk))
    await writeAll(copying, others.map(removalOf))
  }
  return kept.size
}
