import type { Remember } from '../base/cached-load.ts'
import type { Table } from './table.ts'

/** The mark of a table that went back to an earlier time, with the time of the restore. */
export const restoredKey = { pk: 'restored', sk: 'restored' }

/**
 * Returns when the table was restored, in milliseconds since 1970; undefined if it was not. A process reads it at most once in
 * 30 seconds.
 */
export function restoredAt({
  table,
  remember,
}: {
  table: Pick<Table, 'get'>
  remember: Remember
}): Promise<number | undefined> {
  return remember('restored', async () => {
    const mark = await table.get(restoredKey)
    return mark && Number(mark.at)
  })
}
