import { larger, lastIdAt } from '../base/clock.ts'
import { foldCase } from '../formats/text.ts'
import type { Item } from '../table/keys.ts'
import type { Position } from './cursor.ts'
import { type ListQuery, maxPageSize } from './list-query.ts'
import type { Filter, FilterOperator, FilterValue, Listing } from './listing.ts'
import { orderOf, type SortOrder } from './order.ts'
import type { ListRead } from './read-index.ts'

interface Page {
  items: Item[]
  next: Position | undefined
  prev: Position | undefined
  /** The newest id of the session; known on the first page of several only. */
  newest: string | undefined
}

/** A range to read, and the items in it to leave out. */
interface ReadSpan {
  from: string
  to: string
  descending: boolean
  snapshotBound: string | undefined
  /** The number of matches to skip first. */
  skip: number
}

interface KeyRangeReading {
  matches: Item[]
  /** The reason that reading stopped: the range ended, the page was full with more to come, or the budget was spent. */
  end: 'exhausted' | 'full' | 'budget'
  /** The first key that was read. */
  first: string | undefined
  /** The last key that was read and belongs to this page. */
  last: string | undefined
  /** The key of the last skipped match. */
  skipped: string | undefined
  /** The number of matches still to skip. */
  toSkip: number
}

/**
 * Reads one page of a pagination session (docs/lists.md). A page is an inclusive range of sort keys, fixed by the ends
 * of the adjacent pages: no page repeats or skips an item, and going back returns the same range. The upper bound of
 * the snapshot excludes items that were inserted after the session started.
 * @param position the opened cursor; absent for the first page
 */
export async function readPage(list: ListRead, position?: Position): Promise<Page> {
  const order = await orderOf(list)
  return position?.direction === 'prev' ? readBack(list, order, position) : readOn(list, order, position)
}

/** Reads the first page, or the page of a next_cursor. */
async function readOn(list: ListRead, order: SortOrder, position: Position | undefined): Promise<Page> {
  const { query, now } = list
  const { descending } = query
  const [first, last] = endsOf(order, descending, position?.snapshotBound)
  const { snapshotBound, skip = query.offset } = position ?? {}
  const reading = await read(list, order, {
    from: position?.start ?? first,
    to: last,
    descending,
    snapshotBound,
    skip,
  })
  // The last id of the first page's millisecond, or the newest id if the clock of another machine is ahead. A session of one page has
  // no cursor that needs it.
  const isWhole = reading.end === 'exhausted' && reading.skipped === undefined
  const newest = position || isWhole ? undefined : await order.newest(reading.first)
  const until = snapshotBound ?? larger(lastIdAt(now), newest ?? '')
  const [begin] = endsOf(order, descending, until)
  // Skipped items belong to the pages before.
  const start = reading.skipped === undefined ? (position?.start ?? begin) : after(reading.skipped)
  const next: Position | undefined =
    reading.end === 'exhausted' || reading.last === undefined
      ? undefined
      : {
          direction: 'next',
          start: after(reading.last),
          bound: start,
          snapshotBound: until,
          skip: reading.toSkip,
        }
  const prev = start === begin ? undefined : pageBefore(order, descending, start, position?.bound, until)
  return { items: reading.matches, next, prev, newest }

  function after(sortKey: string): string {
    return order.adjacent(sortKey, descending ? -1 : 1)
  }
}

/** Reads the page of a prev_cursor, backwards. */
async function readBack(list: ListRead, order: SortOrder, position: Position): Promise<Page> {
  const { descending } = list.query
  const { snapshotBound, start: from, bound } = position
  const [begin] = endsOf(order, descending, snapshotBound)
  const to = bound ?? begin
  const reading = await read(list, order, {
    from,
    to,
    descending: !descending,
    snapshotBound,
    skip: 0,
  })
  const start = reading.end === 'exhausted' ? to : (reading.last ?? to)
  const after = order.adjacent(from, descending ? -1 : 1)
  return {
    items: reading.matches.reverse(),
    next: { direction: 'next', start: after, bound: start, snapshotBound, skip: 0 },
    prev: start === begin ? undefined : pageBefore(order, descending, start, undefined, snapshotBound),
    newest: undefined,
  }
}

/** Returns the first and the last key of a session. */
function endsOf(order: SortOrder, descending: boolean, snapshotBound: string | undefined): [string, string] {
  const { low, high } = order.fullRange(snapshotBound)
  return descending ? [high, low] : [low, high]
}

function pageBefore(
  order: SortOrder,
  descending: boolean,
  start: string,
  bound: string | undefined,
  snapshotBound: string,
): Position {
  return {
    direction: 'prev',
    start: order.adjacent(start, descending ? 1 : -1),
    bound,
    snapshotBound,
    skip: 0,
  }
}

async function read(list: ListRead, order: SortOrder, task: ReadSpan): Promise<KeyRangeReading> {
  const { query, listing, searchFields, readBudget, byteBudget, sizeOf } = list
  const { from, to, descending, snapshotBound, skip: toSkip } = task
  const reading: KeyRangeReading = {
    matches: [],
    end: 'exhausted',
    first: undefined,
    last: undefined,
    skipped: undefined,
    toSkip,
  }
  const [low, high] = descending ? [to, from] : [from, to]
  const readOn = order.open({ low, high, descending }, snapshotBound)
  // One item more than the page size shows whether there is a next page.
  const asked = query.pageSize + 1
  const isSearch = query.filters.length > 0 || query.search !== undefined || query.deleted === 'only'
  const budget = Math.max(asked, Math.floor(readBudget / order.weight))
  // In an order that takes a unit for each item, a search counts from its second read on.
  const plain = isSearch && order.weight > 1 ? asked : largestPlainRead
  let bytes = 0
  for (let round = 0, read = 0, found = 0; read < budget; round += 1) {
    const wanted = reading.toSkip + asked - reading.matches.length
    const limit = Math.min(budget - read, nextRead({ wanted, read, found, round }))
    if (read <= plain && read + limit > plain) await list.beforeMore?.()
    // A search goes on with a larger read rather than complete this one.
    const enough = isSearch || round > 0 ? Math.ceil(limit / 2) : limit
    const { entries, exhausted } = await readOn(limit, enough)
    for (const { sortKey, item } of entries) {
      reading.first ??= sortKey
      if (item && matches(item, query, listing, searchFields)) {
        found += 1
        if (reading.toSkip > 0) {
          reading.toSkip -= 1
          reading.skipped = sortKey
        } else {
          bytes += sizeOf(item)
          const full = reading.matches.length === query.pageSize
          if (full || (bytes > byteBudget && reading.matches.length > 0)) return { ...reading, end: 'full' }
          reading.matches.push(item)
        }
      }
      reading.last = sortKey
    }
    if (exhausted) return reading
    read += entries.length
  }
  return { ...reading, end: 'budget' }
}

/** Any page may read so many items: those of the largest page, and as many that it leaves out. */
const largestPlainRead = 2 * maxPageSize

/**
 * Returns the number of items to read next. The first read takes what is wanted, if any page may read so many, the next ones what is likely to hold it by
 * the density of matches so far. Each read makes a request of every shard, so reads are few: they grow at least fourfold.
 */
function nextRead(so: { wanted: number; read: number; found: number; round: number }): number {
  const { wanted, read, found, round } = so
  if (read === 0) return Math.min(wanted, largestPlainRead)
  // As if the next item matched: before the first match, the density is low and not 0.
  const density = (found + 1) / (read + 1)
  const deviation = Math.sqrt(wanted * (1 - density))
  return Math.max(Math.ceil((wanted + deviation) / density), 2 * 4 ** round)
}

/** Returns whether an item matches a list request. @param searchFields the fields that `q` searches */
export function matches(
  item: Item,
  { filters, search, deleted }: ListQuery,
  listing: Listing,
  searchFields: readonly string[],
): boolean {
  if (item.erased_at !== undefined) return false
  const isDeleted = item.soft_deleted === true
  if (deleted === 'excluded' && isDeleted) return false
  if (deleted === 'only' && !isDeleted) return false
  if (
    search !== undefined &&
    !searchFields.some((field) => foldCase(String(item[field] ?? '')).includes(search))
  ) {
    return false
  }
  return filters.every((filter) => isMatch(item, filter, listing))
}

function isMatch(item: Item, { field, operator, values }: Filter, listing: Listing): boolean {
  const stored = item[field]
  const actual = listing.fields[field] === 'date-time' ? Date.parse(String(stored)) : (stored as FilterValue)
  return comparisons[operator](actual, values)
}

const comparisons: Record<FilterOperator, (actual: FilterValue, values: readonly FilterValue[]) => boolean> =
  {
    eq: (actual, [value]) => actual === value,
    in: (actual, values) => values.includes(actual),
    gte: (actual, [value]) => value !== undefined && actual >= value,
    gt: (actual, [value]) => value !== undefined && actual > value,
    lte: (actual, [value]) => value !== undefined && actual <= value,
    lt: (actual, [value]) => value !== undefined && actual < value,
  }
