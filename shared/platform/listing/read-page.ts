import { lastIdAt } from '../ids/uuid-v7.ts'
import type { Item } from '../table/keys.ts'
import type { Position } from './cursor.ts'
import { idOrder } from './id-order.ts'
import { larger } from './ids.ts'
import { indexOrder } from './index-order.ts'
import { matches } from './matches.ts'
import type { Order, TenantList } from './order.ts'

export interface PageRequest extends TenantList {
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

/** From where to where to read, and what is not to be shown of it. */
interface Task {
  from: string
  to: string
  descending: boolean
  horizon: string | undefined
  /** Matches to pass over first. */
  skip: number
}

interface Reading {
  matches: Item[]
  /** Why it stopped: the stretch ended, the page was full with more to come, or the read budget was spent. */
  end: 'exhausted' | 'full' | 'budget'
  /** The first place that was read. */
  first: string | undefined
  /** The last place that was read and belongs to this page. */
  last: string | undefined
  /** The last match that was passed over. */
  skipped: string | undefined
  /** Matches still to be passed over. */
  toSkip: number
}

/**
 * Reads one page of a walk (contract, 'GET /v1/orders and GET /codes', rules 6 to 8 and the invariants).
 * A page is a stretch of places, ends included, fixed by where its neighbours end; so no page repeats or skips an
 * item, and going back returns the very stretch. The walk's horizon keeps out what was inserted since it began.
 */
export async function readPage(request: PageRequest): Promise<Page> {
  const order = await orderOf(request)
  const { position } = request
  return position?.direction === 'prev'
    ? readBack(request, order, position)
    : readOn(request, order, position)
}

async function orderOf(request: PageRequest): Promise<Order> {
  const { sortedBy } = request.query
  const index = sortedBy === undefined ? undefined : request.listing.orders?.[sortedBy]
  return index ? indexOrder(request, index) : idOrder(request)
}

/** The first page of a walk, or the one that a next_cursor names. */
async function readOn(request: PageRequest, order: Order, position: Position | undefined): Promise<Page> {
  const { query, now } = request
  const { descending } = query
  const [first, last] = endsOf(order, descending, position?.horizon)
  const { horizon, skip = query.offset } = position ?? {}
  const reading = await read(request, order, {
    from: position?.start ?? first,
    to: last,
    descending,
    horizon,
    skip,
  })
  // The last id of the first page's millisecond, or the newest item where another machine's clock is ahead.
  const newest = position ? undefined : await order.newest(reading.first)
  const until = horizon ?? larger(lastIdAt(now), newest ?? '')
  const [begin] = endsOf(order, descending, until)
  // What was passed over belongs to the pages before.
  const start = reading.skipped === undefined ? (position?.start ?? begin) : after(reading.skipped)
  const next: Position | undefined =
    reading.end === 'exhausted' || reading.last === undefined
      ? undefined
      : { direction: 'next', start: after(reading.last), bound: start, horizon: until, skip: reading.toSkip }
  const prev = start === begin ? undefined : pageBefore(order, descending, start, position?.bound, until)
  return { items: reading.matches, next, prev, newest }

  function after(place: string): string {
    return order.beside(place, descending ? -1 : 1)
  }
}

/** The page that a prev_cursor names: read backwards. */
async function readBack(request: PageRequest, order: Order, position: Position): Promise<Page> {
  const { descending } = request.query
  const { horizon, start: from, bound } = position
  const [begin] = endsOf(order, descending, horizon)
  const to = bound ?? begin
  const reading = await read(request, order, { from, to, descending: !descending, horizon, skip: 0 })
  const start = reading.end === 'exhausted' ? to : (reading.last ?? to)
  const after = order.beside(from, descending ? -1 : 1)
  return {
    items: reading.matches.reverse(),
    next: { direction: 'next', start: after, bound: start, horizon, skip: 0 },
    prev: start === begin ? undefined : pageBefore(order, descending, start, undefined, horizon),
    newest: undefined,
  }
}

/** Where a walk begins and where it ends. */
function endsOf(order: Order, descending: boolean, horizon: string | undefined): [string, string] {
  const { low, high } = order.whole(horizon)
  return descending ? [high, low] : [low, high]
}

function pageBefore(
  order: Order,
  descending: boolean,
  start: string,
  bound: string | undefined,
  horizon: string,
): Position {
  return { direction: 'prev', start: order.beside(start, descending ? 1 : -1), bound, horizon, skip: 0 }
}

async function read(request: PageRequest, order: Order, task: Task): Promise<Reading> {
  const { query, listing, searchFields, readBudget, byteBudget, sizeOf } = request
  const { to, descending, horizon, skip: toSkip } = task
  const reading: Reading = {
    matches: [],
    end: 'exhausted',
    first: undefined,
    last: undefined,
    skipped: undefined,
    toSkip,
  }
  let { from } = task
  let left = readBudget
  let bytes = 0
  while (left > 0) {
    // One item more than the page holds tells whether there is a next page.
    const wanted = reading.toSkip + query.pageSize + 1 - reading.matches.length
    const limit = Math.min(left, isSelective(request, order) ? Math.max(wanted, 100) : wanted)
    const [low, high] = descending ? [to, from] : [from, to]
    const { entries, exhausted } = await order.read({ low, high, descending, limit }, horizon)
    for (const { place, item } of entries) {
      reading.first ??= place
      if (item && matches(item, query, listing, searchFields)) {
        if (reading.toSkip > 0) {
          reading.toSkip -= 1
          reading.skipped = place
        } else {
          bytes += sizeOf(item)
          const full = reading.matches.length === query.pageSize
          if (full || (bytes > byteBudget && reading.matches.length > 0)) return { ...reading, end: 'full' }
          reading.matches.push(item)
        }
      }
      reading.last = place
    }
    if (exhausted) return reading
    left -= entries.length
    if (reading.last !== undefined) from = order.beside(reading.last, descending ? -1 : 1)
  }
  return { ...reading, end: 'budget' }
}

/** Whether much may have to be read for little to be shown. */
function isSelective({ query }: PageRequest, order: Order): boolean {
  const { filters, search, deleted } = query
  return filters.some((filter) => !order.narrows(filter)) || search !== undefined || deleted === 'only'
}
