import type { Item } from '../table/keys.ts'
import type { Table } from '../table/table.ts'
import type { Bounds } from './ids.ts'
import type { ListQuery } from './list-query.ts'
import type { Filter, Listing } from './listing.ts'

/** A list of one tenant as it was asked for. */
export interface TenantList {
  table: Table
  tenant: string
  listing: Listing
  query: ListQuery
  /** How many partitions each entity has; the register's number unless a test says otherwise. */
  shards?: number
}

/** A stretch of places, in the order in which it is read. */
export interface Stretch extends Bounds {
  descending: boolean
  /** The most entries to read. */
  limit: number
}

export interface Entry {
  place: string
  /** Undefined where it is gone, or cannot belong to the walk. */
  item: Item | undefined
}

export interface StretchRead {
  entries: Entry[]
  /** True when nothing of the stretch is left. */
  exhausted: boolean
}

/**
 * How a list is sorted. Each item has a place, a text that is its own, never changes and sorts as the list does; so a
 * page is a stretch of places, and what is said of pages holds whatever they are sorted by.
 */
export interface Order {
  /** The places of a walk. @param horizon the largest id that belongs to it, once that is known */
  whole(horizon: string | undefined): Bounds
  /** The place beside this one, whether an item has it or not. */
  beside(place: string, steps: 1 | -1): string
  /** Reads what lies on a stretch: at least one entry where it is not exhausted. */
  read(stretch: Stretch, horizon: string | undefined): Promise<StretchRead>
  /** The largest id that there is by now. @param first the first place that was read of the walk */
  newest(first: string | undefined): Promise<string | undefined>
  /** Whether `whole` holds nothing that this filter does not pass. */
  narrows(filter: Filter): boolean
}
