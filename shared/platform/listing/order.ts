import type { Item } from '../table/keys.ts'
import type { Table } from '../table/table.ts'
import type { Bounds } from './ids.ts'
import type { ListQuery } from './list-query.ts'
import type { Filter, Listing } from './listing.ts'

/** A list request within one tenant. */
export interface TenantList {
  table: Table
  tenant: string
  listing: Listing
  query: ListQuery
  /** The number of partitions of each entity. Only tests set it; the default is the number in `entities`. */
  shards?: number
}

/** A range of sort keys and the direction in which it is read. */
export interface Stretch extends Bounds {
  descending: boolean
  /** The maximum number of entries to read. */
  limit: number
}

export interface Entry {
  place: string
  /** Undefined if it is gone or cannot belong to the pagination session. */
  item: Item | undefined
}

export interface StretchRead {
  entries: Entry[]
  /** True when nothing of the range is left. */
  exhausted: boolean
}

/**
 * The sort order of a list. Each item has a place: a unique, immutable sort key in the order of the list. A page is a
 * range of these keys, so paging works the same way in every order.
 */
export interface Order {
  /** Returns the key range of a pagination session. @param horizon the upper bound of its snapshot, once known */
  whole(horizon: string | undefined): Bounds
  /** Returns the adjacent key, whether or not an item has it. */
  beside(place: string, steps: 1 | -1): string
  /** Reads a range: at least one entry unless the range is exhausted. */
  read(stretch: Stretch, horizon: string | undefined): Promise<StretchRead>
  /** Returns the largest id so far. @param first the first key that was read in the session */
  newest(first: string | undefined): Promise<string | undefined>
  /** Returns whether everything in `whole` passes this filter. */
  narrows(filter: Filter): boolean
}
