import { lastIdAt } from '../ids/uuid-v7.ts'
import type { Item } from '../table/keys.ts'
import type { Table } from '../table/table.ts'
import type { Position } from './cursor.ts'
import { passes } from './filters.ts'
import { idRange } from './id-range.ts'
import { beside, larger, smaller } from './ids.ts'
import type { ListQuery } from './list-query.ts'
import type { Listing } from './listing.ts'
import { readMerged } from './merged-read.ts'

export interface PageRequest {
  table: Table
  partitions: readonly string[]
  listing: Listing
  query: ListQuery
  /** The opened cursor; absent on the first page of a walk. */
  position: Position | undefined
  searchFields: readonly string[]
  /** Milliseconds since 1970. */
  now: number
  /** The most items to read, so that a selective filter cannot make one request read without bound. */
  readBudget: number
  /** The most bytes that the items of a page may take; the first always fits. */
  byteBudget: number
  sizeOf: (item: Item) => number
}

export interface Page {
  items: Item[]
  next: Position | undefined
  prev: Position | undefined
  /** The newest item of the walk where that is known: on its first page. */
  newest: string | undefined
}

interface Stretch {
  from: string
  to: string
  descending: boolean
}

interface Reading {
  matches: Item[]
  /** Why it stopped: the stretch ended, the page was full with more to come, or the read budget was spent. */
  end: 'exhausted' | 'full' | 'budget'
  /** The last id that was read and belongs to this page. */
  last: string | undefined
  first: string | undefined
}

/**
 * Reads one page of a walk (contract, 'GET /v1/orders and GET /codes', rules 6 to 8 and the invariants).
 * A page is a stretch of ids, ends included, fixed by where its neighbours end; so no page repeats or skips an
 * item, and going back returns the very stretch. The walk's horizon keeps out what was inserted since it began.
 */
export async function readPage(request: PageRequest): Promise<Page> {
  const { query, position } = request
  const { descending } = query
  const whole = idRange(query.filters)
  const onward = descending ? -1 : 1
  const horizon = position?.horizon

  if (position?.direction === 'prev') {
    const walk = capped(whole, position.horizon)
    const begin = descending ? walk.high : walk.low
    const to = position.bound ?? begin
    const reading = await read(request, { from: position.start, to, descending: !descending }, 0)
    const start = reading.end === 'exhausted' ? to : (reading.last ?? to)
    return {
      items: reading.matches.reverse(),
      next: {
        direction: 'next',
        start: beside(position.start, onward),
        bound: start,
        horizon: position.horizon,
      },
      prev: previous(start, begin, undefined, position.horizon),
      newest: undefined,
    }
  }

  const walk = horizon === undefined ? whole : capped(whole, horizon)
  const from = position?.start ?? (descending ? walk.high : walk.low)
  const to = descending ? walk.low : walk.high
  const reading = await read(request, { from, to, descending }, position ? 0 : query.offset)
  const newest = horizon === undefined ? await newestOf(request, whole, reading) : undefined
  const horizonNow = horizon ?? larger(lastIdAt(request.now), newest ?? '')
  const known = capped(whole, horizonNow)
  const begin = descending ? known.high : known.low
  const start = position?.start ?? begin
  const next: Position | undefined =
    reading.end === 'exhausted' || reading.last === undefined
      ? undefined
      : { direction: 'next', start: beside(reading.last, onward), bound: start, horizon: horizonNow }
  return { items: reading.matches, next, prev: previous(start, begin, position?.bound, horizonNow), newest }

  function previous(pageStart: string, walkStart: string, bound: string | undefined, until: string) {
    if (pageStart === walkStart) return undefined
    return {
      direction: 'prev' as const,
      start: beside(pageStart, descending ? 1 : -1),
      bound,
      horizon: until,
    }
  }
}

function capped(range: { low: string; high: string }, horizon: string): { low: string; high: string } {
  return { low: range.low, high: smaller(range.high, horizon) }
}

/**
 * The horizon of a walk is the last id of its first page's millisecond, or the newest item where another machine's
 * clock is ahead. An ascending walk does not see its newest item on the first page, so it asks for it.
 */
async function newestOf(
  { query, table, partitions }: PageRequest,
  whole: { low: string; high: string },
  reading: Reading,
): Promise<string | undefined> {
  if (query.descending) return reading.first
  const { items } = await readMerged(table, partitions, { ...whole, descending: true, limit: 1 })
  return items[0]?.sk
}

async function read(request: PageRequest, stretch: Stretch, offset: number): Promise<Reading> {
  const { table, partitions, query, readBudget, byteBudget, sizeOf } = request
  const { descending } = stretch
  const reading: Reading = { matches: [], end: 'exhausted', last: undefined, first: undefined }
  let { from } = stretch
  let left = readBudget
  let bytes = 0
  let toSkip = offset
  while (left > 0) {
    // One item more than the page holds tells whether there is a next page.
    const wanted = toSkip + query.pageSize + 1 - reading.matches.length
    const limit = Math.min(left, isSelective(query) ? Math.max(wanted, 100) : wanted)
    const [low, high] = descending ? [stretch.to, from] : [from, stretch.to]
    const { items, exhausted } = await readMerged(table, partitions, { low, high, descending, limit })
    for (const item of items) {
      reading.first ??= item.sk
      if (matches(item, request)) {
        if (toSkip > 0) toSkip -= 1
        else {
          bytes += sizeOf(item)
          const full = reading.matches.length === query.pageSize
          if (full || (bytes > byteBudget && reading.matches.length > 0)) return { ...reading, end: 'full' }
          reading.matches.push(item)
        }
      }
      reading.last = item.sk
    }
    if (exhausted) return reading
    left -= items.length
    if (reading.last !== undefined) from = beside(reading.last, descending ? -1 : 1)
  }
  return { ...reading, end: 'budget' }
}

function isSelective({ filters, search, deleted }: ListQuery): boolean {
  return (
    filters.some(({ field, operator }) => field !== 'created_at' || operator === 'in') ||
    search !== undefined ||
    deleted === 'only'
  )
}

function matches(item: Item, { query, listing, searchFields }: PageRequest): boolean {
  if (item.erased_at !== undefined) return false
  const deleted = item.soft_deleted === true
  if (query.deleted === 'excluded' && deleted) return false
  if (query.deleted === 'only' && !deleted) return false
  const { search } = query
  if (
    search !== undefined &&
    !searchFields.some((field) => String(item[field]).toLowerCase().includes(search))
  ) {
    return false
  }
  return passes(item, query.filters, listing)
}
