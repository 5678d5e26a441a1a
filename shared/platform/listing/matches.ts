import type { Item } from '../table/keys.ts'
import type { ListQuery } from './list-query.ts'
import type { Filter, FilterValue, Listing, Operator } from './listing.ts'

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
    !searchFields.some((field) => String(item[field]).toLowerCase().includes(search))
  ) {
    return false
  }
  return filters.every((filter) => passes(item, filter, listing))
}

function passes(item: Item, { field, operator, values }: Filter, listing: Listing): boolean {
  const stored = item[field]
  const actual = listing.fields[field] === 'date-time' ? Date.parse(String(stored)) : (stored as FilterValue)
  return comparisons[operator](actual, values)
}

const comparisons: Record<Operator, (actual: FilterValue, values: readonly FilterValue[]) => boolean> = {
  eq: (actual, [value]) => actual === value,
  in: (actual, values) => values.includes(actual),
  gte: (actual, [value]) => value !== undefined && actual >= value,
  gt: (actual, [value]) => value !== undefined && actual > value,
  lte: (actual, [value]) => value !== undefined && actual <= value,
  lt: (actual, [value]) => value !== undefined && actual < value,
}
