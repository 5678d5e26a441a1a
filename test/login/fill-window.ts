import { PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb'
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb'
import { testClient } from '#test/support/dynamodb-client.ts'

/**
 * Lets everybody who was counted in a table have made so many requests at these times: what they would have made one
 * by one.
 * @param times milliseconds since 1970, oldest first
 */
export async function fillWindows(tableName: string, times: readonly number[]): Promise<void> {
  for (const item of await everything(tableName)) {
    if (!String(item.pk).startsWith('rate#')) continue
    const Item = marshall({ ...item, times, version: Number(item.version) + 1 })
    await testClient().send(new PutItemCommand({ TableName: tableName, Item }))
  }
}

/** All items of a table. */
export async function everything(tableName: string): Promise<Record<string, unknown>[]> {
  const { Items = [] } = await testClient().send(new ScanCommand({ TableName: tableName }))
  return Items.map((item) => unmarshall(item))
}
