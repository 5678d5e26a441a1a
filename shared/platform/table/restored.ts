import type { Clock } from '../base/clock.ts'
import type { Table } from './table.ts'

/** The mark of a table that went back to an earlier time, with the time of the restore. */
export const restoredKey = { pk: 'restored', sk: 'restored' }

/** How long a process uses what it has read, in milliseconds. */
const maxAgeMilliseconds = 30_000

/** What each process has read. It has one clock. */
const known = new WeakMap<Clock, { restoredAt: number | undefined; readAt: number }>()

/** Returns when the table was restored, in milliseconds since 1970. It is read at most once in 30 seconds. */
export async function restoredAt({
  table,
  clock,
}: {
  table: Pick<Table, 'get'>
  clock: Clock
}): Promise<number | undefined> {
  const last = known.get(clock)
  const readAt = clock.now()
  if (last && readAt - last.readAt < maxAgeMilliseconds) return last.restoredAt
  const mark = await table.get(restoredKey)
  const at = mark && Number(mark.at)
  known.set(clock, { restoredAt: at, readAt })
  return at
}
