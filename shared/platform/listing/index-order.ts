import { keyOf } from '../table/keys.ts'
import { newestId } from './id-order.ts'
import { capped, idRange } from './id-range.ts'
import type { SortIndex } from './listing.ts'
import type { Order, TenantList } from './order.ts'
import { allPlaces, beside, placesOf } from './places.ts'
import { readIndex } from './read-index.ts'

/** The maximum number of items that one request reads by key. */
const mostItems = 100

/** Returns the order by an indexed field: index entries hold the sort keys, and the items are read by id. */
export function indexOrder(list: TenantList, index: SortIndex): Order {
  const { table, tenant, listing, query, shards } = list
  const ids = idRange(query.filters)
  const named = query.filters.find(({ field, operator }) => field === query.sortedBy && operator === 'eq')
  const places = named ? placesOf(String(named.values[0])) : allPlaces
  return {
    whole: () => places,
    beside,
    async read(stretch, horizon) {
      const limit = Math.min(stretch.limit, mostItems)
      const { found, exhausted } = await readIndex(list, index, { ...stretch, limit })
      // The upper bound is an id. An item created after the session started can be anywhere in this order.
      const { low, high } = capped(ids, horizon)
      const wanted = found.filter(({ id }) => id >= low && id <= high)
      const items = await table.getMany(wanted.map(({ id }) => keyOf(tenant, listing.entity, id, shards)))
      const byId = new Map(items.map((item) => [item.sk, item]))
      return { entries: found.map(({ place, id }) => ({ place, item: byId.get(id) })), exhausted }
    },
    newest: () => newestId(list),
    narrows: (filter) => filter === named,
  }
}
