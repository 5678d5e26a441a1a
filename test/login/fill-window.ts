import { itemsOf } from '#test/support/dynamodb-client.ts'
import { openTable } from '#test/support/tables.ts'

/**
 * Adds requests at these times to every counter in a table, as if they were made one by one. A counter of a large limit has them
 * at the time of its own request.
 * @param times milliseconds since 1970, oldest first
 */
export async function fillWindows(tableName: string, times: readonly number[]): Promise<void> {
  for (const item of await itemsOf(tableName)) {
    if (!String(item.pk).startsWith('rate#')) continue
    const counts = { count: times.length, total: times.length }
    const requests = item.slice === undefined ? { times } : counts
    const filled = { ...item, ...requests, version: Number(item.version) + 1 }
    await openTable(tableName).put({ item: filled, condition: 'none' })
  }
}
