import { PutCommand } from '@aws-sdk/lib-dynamodb'
import { documentClient, itemsOf } from '#test/support/dynamodb-client.ts'

/**
 * Lets everybody who was counted in a table have made so many requests at these times: what they would have made one
 * by one.
 * @param times milliseconds since 1970, oldest first
 */
export async function fillWindows(tableName: string, times: readonly number[]): Promise<void> {
  for (const item of await itemsOf(tableName)) {
    if (!String(item.pk).startsWith('rate#')) continue
    const Item = { ...item, times, version: Number(item.version) + 1 }
    await documentClient().send(new PutCommand({ TableName: tableName, Item }))
  }
}
