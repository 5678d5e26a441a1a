import { partitionsOf } from '../table/keys.ts'
import { capped, idRange } from './id-range.ts'
import { type Bounds, beside, larger, smaller } from './ids.ts'
import { readMerged } from './merged-read.ts'
import type { Order, TenantList } from './order.ts'
import { idsOf } from './read-index.ts'

/** The order by created_at, which is the id's own time: the place of an item is its id. */
export async function idOrder(list: TenantList): Promise<Order> {
  const { table, query } = list
  const ids = idRange(query.filters)
  // It bounds what is read and not the walk, as it changes with what is stored.
  const known = await idsByIndex(list)
  return {
    whole: (horizon) => capped(ids, horizon),
    beside,
    async read({ low, high, ...rest }) {
      const range = { ...rest, low: larger(low, known?.low ?? low), high: smaller(high, known?.high ?? high) }
      const { items, exhausted } = await readMerged(table, partitionsOfList(list), range)
      return { entries: items.map((item) => ({ place: item.sk, item })), exhausted }
    },
    // A descending walk has met it already.
    newest: async (first) => (query.descending ? first : newestId(list)),
    narrows: ({ field, operator }) => field === 'created_at' && operator !== 'in',
  }
}

/** The newest item that the filters on created_at and id leave. */
export async function newestId(list: TenantList): Promise<string | undefined> {
  const range = { ...idRange(list.query.filters), descending: true, limit: 1 }
  const { items } = await readMerged(list.table, partitionsOfList(list), range)
  return items[0]?.sk
}

/** Where a filter names the value of an index, the ids of its items. */
async function idsByIndex(list: TenantList): Promise<Bounds | undefined> {
  for (const { field, operator, values } of list.query.filters) {
    const index = list.listing.orders?.[field]
    if (index && operator === 'eq') return idsOf(list, index, String(values[0]))
  }
  return undefined
}

function partitionsOfList({ tenant, listing, shards }: TenantList): string[] {
  return partitionsOf(tenant, listing.entity, shards)
}
