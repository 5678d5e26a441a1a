import { keyOf } from '../table/keys.ts'
import { newestId } from './id-order.ts'
import { capped, idRange } from './id-range.ts'
import type { SortIndex } from './listing.ts'
import type { Order, TenantList } from './order.ts'
import { allPlaces, beside, placesOf } from './places.ts'
import { readIndex } from './read-index.ts'

/** The most items that the table hands out by their keys at once. */
const mostItems = 100

/** The order by the field of an index: entries tell the places, and the items are read by their ids. */
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
      // The horizon is an id: what was made after the walk began may lie anywhere in this order.
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
