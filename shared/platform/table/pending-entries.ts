import { hourMilliseconds, minuteMilliseconds, timeOf } from '../base/clock.ts'
import { Failure } from '../base/failure.ts'
import { entryAt, type Item, idOfEntry, type Key, type PendingWork, pendingPartitionsOf } from './keys.ts'
import { inParallel, type Table } from './table.ts'

/** The entry of work that is due at a time, which its sort key begins with. */
export interface DueEntry extends Key {
  tenant: string
}

/** The entries that one request reads. */
const entriesAtOnce = 1000
/**
 * The entries of each partition that a run of a sweep reads: 160,000 of all partitions. What is due comes first, and what
 * was tried is due later, so a run that reads no more reaches the next ones.
 */
const mostOfPartition = 5000
/** The due entries of a tenant that a run keeps of each partition: more than a run can work on. */
const mostOfTenant = 100
/** Above the sort key of any entry. */
const largestEntry = '~'

/** How the pauses of work grow. */
export interface Pauses {
  /** The part of the age of the work that a pause lasts. */
  ofAge: number
  /** In milliseconds. */
  longest: number
}

/** The pauses of work that could not be done, in which the other party may be available again: a quarter of its age. */
export const retryPauses: Pauses = { ofAge: 1 / 4, longest: hourMilliseconds }
/** The pauses of work that takes days. They are shorter than a day, so an alarm that looks at a day sees each try. */
export const longPauses: Pauses = { ofAge: 1, longest: 23 * hourMilliseconds }

/** Returns the next sort key of an entry: it is due after a pause that grows with the age of the work, at least a minute. */
export function laterEntry(entry: string, now: number, { ofAge, longest }: Pauses): string {
  const id = idOfEntry(entry)
  const pause = Math.max(minuteMilliseconds, ofAge * (now - timeOf(id)))
  return entryAt(now + Math.min(longest, pause), id)
}

/**
 * Returns whether work is a day old and was refused by a decision of its tenant. Trying it each hour is in vain.
 * @param id the id of the work
 */
export function isRefusedLongerThanADay(thrown: unknown, id: string, now: number): boolean {
  return thrown instanceof Failure && thrown.refusedByTenant && now - timeOf(id) >= 24 * hourMilliseconds
}

/** Returns all entries of pending work, in the order of their sort keys. @param high the largest one */
export async function pendingEntries(table: Table, work: PendingWork, high = largestEntry): Promise<Item[]> {
  const entries: Item[] = []
  await readEntries(table, work, { high, most: Number.POSITIVE_INFINITY }, (entry) => entries.push(entry))
  return inOrder(entries)
}

/** What a run of a sweep has read. */
interface DueWork<Entry> {
  /** The entries that are due, longest due first. */
  due: Entry[]
  /** The number of entries of each tenant, without those of the last minute: requests may be at work on them. */
  counts: Map<string, number>
  /** The start of the oldest of those, in milliseconds since 1970; absent if there is none. */
  oldest?: number
}

/**
 * Reads the entries of work that is due. What is due is read first, so what is not due hides nothing, and a tenant has a
 * part of what is kept, so it hides no other.
 * @param options.countsLater also reads what is not due, to count it
 */
export async function readDue<Entry extends DueEntry>(
  table: Table,
  work: 'pending-saga' | 'unsettled-refund',
  { now, countsLater }: { now: number; countsLater: boolean },
): Promise<DueWork<Entry>> {
  const lastDue = entryAt(now, largestEntry)
  const due: Item[] = []
  const counts = new Map<string, number>()
  const kept = new Map<string, number>()
  let oldest = Number.POSITIVE_INFINITY
  const range = { high: countsLater ? largestEntry : lastDue, most: mostOfPartition }
  await readEntries(table, work, range, (entry) => {
    const tenant = String(entry.tenant)
    const since = timeOf(idOfEntry(entry.sk))
    if (since <= now - minuteMilliseconds) {
      increment(counts, tenant)
      oldest = Math.min(oldest, since)
    }
    if (entry.sk <= lastDue && increment(kept, `${entry.pk} ${tenant}`) <= mostOfTenant) due.push(entry)
  })
  const sorted = inOrder(due) as unknown as Entry[]
  return { due: sorted, counts, ...(counts.size > 0 && { oldest }) }
}

function increment(counts: Map<string, number>, of: string): number {
  const count = (counts.get(of) ?? 0) + 1
  counts.set(of, count)
  return count
}

function inOrder(entries: readonly Item[]): Item[] {
  return entries.toSorted((one, other) => (one.sk < other.sk ? -1 : 1))
}

/** Reads the entries of each partition in the order of their sort keys. An entry that moves meanwhile may be read twice. */
async function readEntries(
  table: Table,
  work: PendingWork,
  { high, most }: { high: string; most: number },
  visit: (entry: Item) => void,
): Promise<void> {
  await inParallel(pendingPartitionsOf(work), async (partition) => {
    let low = '0'
    for (let left = most; left > 0; ) {
      const limit = Math.min(left, entriesAtOnce)
      const { items, exhausted } = await table.readRange({ partition, low, high, descending: false, limit })
      for (const item of items) visit(item)
      if (exhausted) break
      left -= items.length
      low = `${items.at(-1)?.sk}#`
    }
  })
}
